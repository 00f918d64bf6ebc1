//! Values by numbers, in pages: memory is taken for the pages that hold any, whatever the highest number is.
//!
//! Slots of sessions are dense in a ledger that grew here. In one that was forged, damaged or repaired a single entry
//! may name the hundred-millionth: an array up to that would be gigabytes for one value.

/// Values of a page. A page with one value is then some hundred octets, and the list of all pages of a hundred million
/// numbers 25 MB.
const PAGE: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Page<T> {
    held: u32,
    values: [Option<T>; PAGE],
}

/// Values by numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages<T> {
    /// The last one holds a value.
    pages: Vec<Option<Box<Page<T>>>>,
    held: usize,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Pages { pages: Vec::new(), held: 0 }
    }
}

fn place(number: u32) -> (usize, usize) {
    (number as usize / PAGE, number as usize % PAGE)
}

impl<T> Pages<T> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.held
    }

    /// The value of a number.
    pub fn get(&self, number: u32) -> Option<&T> {
        let (page, at) = place(number);
        self.pages.get(page)?.as_deref()?.values[at].as_ref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (page, at) = place(number);
        self.pages.get_mut(page)?.as_deref_mut()?.values[at].as_mut()
    }

    /// Puts a value, in place of the one that was there.
    pub fn put(&mut self, number: u32, value: T) -> Option<T> {
        let (page, at) = place(number);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let new = || Box::new(Page { held: 0, values: [const { None }; PAGE] });
        let page = self.pages[page].get_or_insert_with(new);
        let before = page.values[at].replace(value);
        if before.is_none() {
            page.held += 1;
            self.held += 1;
        }
        before
    }

    /// Takes a value out.
    pub fn take(&mut self, number: u32) -> Option<T> {
        let (at, within) = place(number);
        let page = self.pages.get_mut(at)?.as_deref_mut()?;
        let value = page.values[within].take()?;
        (page.held, self.held) = (page.held - 1, self.held - 1);
        if page.held == 0 {
            self.pages[at] = None;
        }
        while self.pages.last().is_some_and(Option::is_none) {
            self.pages.pop();
        }
        Some(value)
    }

    /// The values with their numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let pages = self.pages.iter().enumerate().filter_map(|(at, page)| Some((at * PAGE, page.as_deref()?)));
        pages.flat_map(|(first, page)| {
            let values = page.values.iter().enumerate();
            values.filter_map(move |(at, value)| Some(((first + at) as u32, value.as_ref()?)))
        })
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pages.iter_mut().flatten().flat_map(|page| page.values.iter_mut().flatten())
    }

    /// The number behind the highest one that has a value; 0 if none has.
    pub fn end(&self) -> u32 {
        let Some(page) = self.pages.last().and_then(Option::as_deref) else { return 0 };
        let last = page.values.iter().rposition(Option::is_some).unwrap_or_default();
        ((self.pages.len() - 1) * PAGE + last + 1) as u32
    }

    /// Makes room in the list for so many, before there is any.
    pub fn reserve(&mut self, count: usize) {
        self.pages.reserve(count.div_ceil(PAGE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn they_hold_what_a_map_holds(steps in prop::collection::vec((0..200_u32, any::<bool>()), 0..400)) {
            let (mut pages, mut map) = (Pages::default(), BTreeMap::new());
            for (step, (number, put)) in steps.into_iter().enumerate() {
                match put {
                    true => prop_assert_eq!(pages.put(number, step), map.insert(number, step)),
                    false => prop_assert_eq!(pages.take(number), map.remove(&number)),
                }
                prop_assert_eq!((pages.len(), pages.get(number)), (map.len(), map.get(&number)));
            }
            prop_assert!(pages.iter().eq(map.iter().map(|(number, value)| (*number, value))));
            prop_assert_eq!(pages.end(), map.last_key_value().map_or(0, |(number, _)| number + 1));
            let mut again = Pages::default();
            map.iter().for_each(|(number, value)| assert_eq!(again.put(*number, *value), None));
            prop_assert_eq!(again, pages);
        }
    }

    #[test]
    fn a_high_number_takes_no_memory_for_those_below() {
        let mut pages = Pages::default();
        pages.put(99_999_999, 1_u8);
        assert_eq!(pages.pages.iter().flatten().count(), 1);
        assert_eq!((pages.get(99_999_999), pages.get(5), pages.end()), (Some(&1), None, 100_000_000));
        pages.take(99_999_999);
        assert!(pages.pages.is_empty());
    }
}
