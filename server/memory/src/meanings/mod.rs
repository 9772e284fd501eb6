//! What words mean, by a table of vectors that a package ships: words that mean nearly the same point the same way.
//!
//! It is a file of the person's choice and off without it. It must never be read before a question needs it.

mod pieces;

use std::path::{Path, PathBuf};

use half::f16;
use safetensors::{Dtype, SafeTensors};

use crate::files::{Files, read_whole};
use pieces::Pieces;

/// Where the package `wordllama` 0.4.0 keeps its table, below its own folder.
const TABLE: &str = "weights/l2_supercat_256.safetensors";
/// Where it keeps the pieces of words that the rows of the table stand for.
const PIECES: &str = "tokenizers/l2_supercat_tokenizer_config.json";
/// Largest file of them that is read.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Why a table can't be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is no table of meanings: {problem}; let `context.meanings` name the folder `wordllama` of that package in version \
     0.4.0, or leave it out", path.display()
)]
pub struct MeaningsError {
    path: PathBuf,
    problem: String,
}

/// A table of what words mean.
pub struct Meanings {
    pieces: Pieces,
    /// The whole file, whose rows begin at `start` and are `width` numbers of 16 bits each.
    bytes: Vec<u8>,
    start: usize,
    width: usize,
    rows: usize,
}

impl Meanings {
    /// Reads the table in the folder of the package `wordllama`.
    ///
    /// # Errors
    ///
    /// [`MeaningsError`] names the file that is missing or has another form.
    pub fn read(files: &(impl Files + ?Sized), folder: &Path) -> Result<Self, MeaningsError> {
        if !folder.is_absolute() {
            let problem = "its path is not written out from the root".to_owned();
            return Err(MeaningsError { path: folder.to_owned(), problem });
        }
        let (table, pieces) = (folder.join(TABLE), folder.join(PIECES));
        let read = |path: &Path| match read_whole(files, path, BYTES_MAX) {
            Ok(Some((bytes, _))) => Ok(bytes),
            Ok(None) => Err("it is not there".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let of = |path: PathBuf| move |problem: String| MeaningsError { path, problem };
        let pieces = read(&pieces).and_then(|bytes| Pieces::of(&bytes)).map_err(of(pieces))?;
        read(&table).and_then(|bytes| Self::of(pieces, bytes)).map_err(of(table))
    }

    fn of(pieces: Pieces, bytes: Vec<u8>) -> Result<Self, String> {
        let (header, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| error.to_string())?;
        let tensors = metadata.tensors();
        let tensor = tensors.values().next().ok_or("it holds no tensor")?;
        let (&[rows, width], Dtype::F16) = (tensor.shape.as_slice(), tensor.dtype) else {
            return Err("its tensor has not two dimensions of 16-bit floats".to_owned());
        };
        // The length of the header stands before it, in eight bytes.
        let start = 8 + header + tensor.data_offsets.0;
        Ok(Self { pieces, bytes, start, width, rows })
    }

    /// Where a word in small letters points; all zero if the table has none of its pieces.
    #[must_use]
    pub fn vector(&self, word: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.width];
        let pieces = self.pieces.of_word(word);
        for row in pieces.into_iter().filter(|row| *row < self.rows) {
            let at = self.start + row * self.width * size_of::<f16>();
            let numbers = self.bytes[at..].chunks_exact(size_of::<f16>()).take(self.width);
            for (sum, number) in sum.iter_mut().zip(numbers) {
                *sum += f16::from_le_bytes([number[0], number[1]]).to_f32();
            }
        }
        unit(sum)
    }
}

/// A vector of length 1 that points the same way; zero stays zero.
pub(crate) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = dot(&vector, &vector).sqrt();
    if length > 0.0 {
        for number in &mut vector {
            *number /= length;
        }
    }
    vector
}

/// How much two vectors of length 1 point the same way: from 1 down to -1.
pub(crate) fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of three rows with two numbers each.
    fn table(rows: [[f32; 2]; 3]) -> Meanings {
        let pieces = r#"{"model": {"vocab": {"▁": 0, "a": 1, "b": 2, "c": 3}, "merges": []}}"#;
        let numbers: Vec<u8> =
            rows.iter().flatten().flat_map(|number| f16::from_f32(*number).to_le_bytes()).collect();
        Meanings::of(Pieces::of(pieces.as_bytes()).unwrap(), tensors("F16", "[3,2]", &numbers)).unwrap()
    }

    fn tensors(dtype: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
        let end = numbers.len();
        let header = format!(r#"{{"t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{end}]}}}}"#);
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), numbers].concat()
    }

    #[test]
    fn a_word_points_where_its_pieces_point_together() {
        let table = table([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]);
        for (word, expected) in [
            ("a", [1.0, 0.0]),
            ("aaa", [1.0, 0.0]),
            ("b", [0.0, 1.0]),
            ("ab", [0.6, 0.8]),
            // A piece without a row, and a letter that the table does not know.
            ("ac", [1.0, 0.0]),
            ("bx", [0.0, 1.0]),
            ("c", [0.0, 0.0]),
        ] {
            let found = table.vector(word);
            assert_eq!(found.len(), 2);
            let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-3);
            assert!(is_near, "{word}: {found:?}");
        }
        let begun = self::table([[0.0, 4.0], [3.0, 0.0], [0.0, 0.0]]).vector("a");
        assert!((begun[0] - 0.6).abs() < 1e-3 && (begun[1] - 0.8).abs() < 1e-3, "{begun:?}");
    }

    #[test]
    fn a_table_of_another_form_is_refused() {
        let pieces = || Pieces::of(r#"{"model": {"vocab": {"▁": 0}, "merges": []}}"#.as_bytes()).unwrap();
        let refused = |bytes: Vec<u8>| Meanings::of(pieces(), bytes).err();
        assert_eq!(refused(tensors("F16", "[1,2]", &[0; 4])), None);
        let other = Some("its tensor has not two dimensions of 16-bit floats".to_owned());
        assert_eq!(refused(tensors("F32", "[1,1]", &[0; 4])), other);
        assert_eq!(refused(tensors("F16", "[2]", &[0; 4])), other);
        let empty = [&2_u64.to_le_bytes()[..], b"{}"].concat();
        assert_eq!(refused(empty), Some("it holds no tensor".to_owned()));
        assert!(refused(vec![0; 4]).is_some());
    }

    #[test]
    fn a_unit_points_the_same_way_and_has_the_length_one() {
        let near = |one: f32, other: f32| (one - other).abs() < 1e-6;
        let found = unit(vec![3.0, -4.0]);
        assert!(near(found[0], 0.6) && near(found[1], -0.8), "{found:?}");
        assert_eq!(unit(vec![0.0, 0.0]), [0.0, 0.0]);
        assert!(near(dot(&found, &found), 1.0) && near(dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0));
        assert!(near(dot(&[1.0, 2.0], &[3.0]), 3.0));
    }
}
