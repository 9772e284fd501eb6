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
