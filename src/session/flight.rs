//! Single flight: work of one name that is asked for while it runs is done once.
use foldhash::HashMap;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use std::fmt;

/// Work in flight, by name. It is dropped when nobody waits for it any more, and known only while somebody does.
pub struct Flights<T: Clone> {
    running: Mutex<HashMap<String, WeakShared<BoxFuture<'static, T>>>>,
}

impl<T: Clone> Flights<T> {
    /// Joins the work of this name; begins `work` where none is in flight.
    pub fn join(&self, name: &str, work: impl FnOnce() -> BoxFuture<'static, T>) -> Shared<BoxFuture<'static, T>> {
        let mut running = self.running.lock();
        running.retain(|_, work| work.upgrade().is_some());
        if let Some(known) = running.get(name).and_then(WeakShared::upgrade) {
            return known;
        }
        let begun = work().shared();
        running.extend(begun.downgrade().map(|weak| (name.to_owned(), weak)));
        begun
    }
}

impl<T: Clone> Default for Flights<T> {
    fn default() -> Self {
        Self { running: Mutex::default() }
    }
}

impl<T: Clone> fmt::Debug for Flights<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flights").field("running", &self.running.lock().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::{pending, ready};
    use std::cell::Cell;

    #[test]
    fn work_of_one_name_is_begun_once_while_somebody_waits_for_it() {
        let flights = Flights::default();
        let begun = Cell::new(0);
        let begin = |name: &str| {
            flights.join(name, || {
                begun.set(begun.get() + 1);
                pending::<u8>().boxed()
            })
        };
        let first = begin("a");
        let second = begin("a");
        assert!(first.ptr_eq(&second) && begun.get() == 1);
        let other = begin("b");
        assert!(!first.ptr_eq(&other) && begun.get() == 2);
        drop((first, second));
        let _again = begin("a");
        assert_eq!(begun.get(), 3, "the one before was dropped");
        assert_eq!(flights.running.lock().len(), 2);
    }

    #[test]
    fn all_who_wait_get_what_came_of_it() {
        let flights = Flights::default();
        let first = flights.join("a", || ready(7).boxed());
        let second = flights.join("a", || ready(8).boxed());
        assert_eq!((first.now_or_never(), second.now_or_never()), (Some(7), Some(7)));
    }
}
