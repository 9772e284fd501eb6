//! What HTTP tells beside the messages, on its way from the connection into the record.

use std::cell::RefCell;
use std::rc::Rc;

/// What HTTP itself carried beside the messages of one connection, oldest first, until it is written to a record.
pub(crate) type Heard = Rc<RefCell<Vec<String>>>;
