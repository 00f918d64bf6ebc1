//! Commands and groups as values: one definition gives the struct, its reader and its writer.
//!
//! A definition reads as the ABNF of the specifications does. Each field is `required`, `optional`, `many` or `some`
//! (one at least); what else may come is passed over if the dictionary knows it or it has no M flag, unless it is
//! `forbidden`.

use super::{Avp, Avps, Failure, HostAddress, Key, Time, Writer, dictionary, result_code};
use core::fmt;

/// What the data of an AVP is.
pub trait Value<'a>: Copy + PartialEq + fmt::Debug {
    /// Reads it.
    ///
    /// # Errors
    /// Its length or its value cannot be.
    fn read(avp: &Avp<'a>) -> Result<Self, Failure<'a>>;

    /// Appends it as an AVP of that code.
    fn write(&self, key: Key, writer: &mut Writer<'_>);
}

macro_rules! plain_values {
    ($($type:ty: $read:ident $write:ident;)*) => {
        $(impl<'a> Value<'a> for $type {
            #[inline]
            fn read(avp: &Avp<'a>) -> Result<Self, Failure<'a>> {
                avp.$read()
            }

            #[inline]
            fn write(&self, key: Key, writer: &mut Writer<'_>) {
                writer.$write(key, *self);
            }
        })*
    };
}

plain_values! {
    u32: unsigned32 unsigned32;
    u64: unsigned64 unsigned64;
    i32: integer32 integer32;
    i64: integer64 integer64;
    Time: time time;
    &'a str: text text;
    HostAddress<'a>: address address;
}

/// OctetString, and groups that are passed on as they are.
impl<'a> Value<'a> for &'a [u8] {
    fn read(avp: &Avp<'a>) -> Result<Self, Failure<'a>> {
        Ok(avp.data())
    }

    fn write(&self, key: Key, writer: &mut Writer<'_>) {
        writer.octets(key, self);
    }
}

/// The values of an AVP that may come many times: those of a message, read again as they are asked for, or a slice that
/// is to be written. They are equal if their values are.
#[derive(Clone, Copy)]
pub enum List<'a, T> {
    /// From a message. All have been read once, so that reading them again does not fail.
    Read {
        /// From the first one on.
        octets: &'a [u8],
        /// Which AVPs.
        key: Key,
        /// How many there are.
        count: u32,
    },
    /// To be written.
    Values(&'a [T]),
}

impl<'a, T: Value<'a>> List<'a, T> {
    /// The values.
    #[inline]
    pub fn iter(&self) -> ListValues<'a, T> {
        match *self {
            List::Read { octets, key, count } => ListValues::Read { avps: Avps::new(octets), key, left: count },
            List::Values(values) => ListValues::Values(values.iter()),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            List::Read { count, .. } => *count as usize,
            List::Values(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Itself, unless there is none.
    pub(super) fn not_empty(self, key: Key) -> Result<Self, Failure<'a>> {
        if self.is_empty() { Err(Failure::missing(key)) } else { Ok(self) }
    }

    /// Takes in one of a message: `avp`, which stands at the beginning of `octets`.
    #[inline]
    pub(super) fn take(&mut self, avp: &Avp<'a>, octets: &'a [u8]) -> Result<(), Failure<'a>> {
        T::read(avp)?;
        match self {
            List::Read { count, .. } => *count += 1,
            List::Values(_) => *self = List::Read { octets, key: avp.key, count: 1 },
        }
        Ok(())
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        List::Values(&[])
    }
}

impl<'a, T: Value<'a>> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Value<'a>> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Value<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = ListValues<'a, T>;

    fn into_iter(self) -> ListValues<'a, T> {
        self.iter()
    }
}

/// The values of a [`List`].
#[derive(Clone, Debug)]
pub enum ListValues<'a, T> {
    /// From a message.
    Read {
        /// Where they are.
        avps: Avps<'a>,
        /// Which they are.
        key: Key,
        /// How many are to come.
        left: u32,
    },
    /// From a slice.
    Values(core::slice::Iter<'a, T>),
}

impl<'a, T: Value<'a>> Iterator for ListValues<'a, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        match self {
            ListValues::Read { avps, key, left } => {
                *left = left.checked_sub(1)?;
                let avp = avps.by_ref().flatten().find(|avp| avp.key == *key)?;
                T::read(&avp).ok()
            }
            ListValues::Values(values) => values.next().copied(),
        }
    }
}

/// An AVP that a grammar does not name: passed over if it is known, or need not be.
#[inline]
pub(super) fn unnamed<'a>(avp: &Avp<'a>) -> Result<(), Failure<'a>> {
    if avp.is_mandatory() && dictionary::find(avp.key).is_none() {
        return Err(Failure::of_avp(result_code::AVP_UNSUPPORTED, avp));
    }
    Ok(())
}

/// Puts the only value of an AVP into its place.
#[inline]
pub(super) fn once<'a, T: Value<'a>>(place: &mut Option<T>, avp: &Avp<'a>) -> Result<(), Failure<'a>> {
    if place.is_some() {
        return Err(Failure::of_avp(result_code::AVP_OCCURS_TOO_MANY_TIMES, avp));
    }
    *place = Some(T::read(avp)?);
    Ok(())
}

/// The struct, its reader and its writer; see the module.
macro_rules! grammar {
    (@type required $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@type $rule:ident $type:ty) => { List<'a, $type> };
    (@place many $type:ty) => { List::<'a, $type>::default() };
    (@place some $type:ty) => { List::<'a, $type>::default() };
    (@place $rule:ident $type:ty) => { None::<$type> };
    (@take many $place:ident $avp:ident $at:ident) => { $place.take(&$avp, $at)? };
    (@take some $place:ident $avp:ident $at:ident) => { $place.take(&$avp, $at)? };
    (@take $rule:ident $place:ident $avp:ident $at:ident) => { once(&mut $place, &$avp)? };
    (@finish required $place:ident $key:ident) => { $place.ok_or_else(|| Failure::missing($key))? };
    (@finish some $place:ident $key:ident) => { $place.not_empty($key)? };
    (@finish $rule:ident $place:ident $key:ident) => { $place };
    (@write required $value:expr, $key:ident, $writer:ident) => { $value.write($key, $writer) };
    (@write $rule:ident $value:expr, $key:ident, $writer:ident) => {
        for value in $value.into_iter() {
            value.write($key, $writer);
        }
    };
    (
        $(#[$doc:meta])*
        $name:ident $(<$life:lifetime>)? {
            $($(#[$field_doc:meta])* $rule:ident $field:ident: $type:ty = $key:ident,)*
        }
        $(forbidden [$($forbidden:ident),* $(,)?])?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name $(<$life>)? {
            $($(#[$field_doc])* pub $field: grammar!(@type $rule $type),)*
        }

        impl<'a> $name $(<$life>)? {
            /// Reads the AVPs of a message or a group.
            ///
            /// # Errors
            /// The first mistake, as its answer has to tell it: an AVP that cannot be located, has a wrong value,
            /// comes too often, is missing, must not be there, or is unknown and has the M flag.
            pub fn read_avps(mut avps: Avps<'a>) -> Result<Self, Failure<'a>> {
                $(let mut $field = grammar!(@place $rule $type);)*
                loop {
                    let at = avps.rest();
                    let Some(avp) = avps.next() else { break };
                    let avp = avp?;
                    match avp.key {
                        $($key => grammar!(@take $rule $field avp at),)*
                        $($($forbidden)|* => return Err(Failure::of_avp(result_code::AVP_NOT_ALLOWED, &avp)),)?
                        _ => unnamed(&avp)?,
                    }
                    let _ = at;
                }
                Ok($name { $($field: grammar!(@finish $rule $field $key),)* })
            }

            /// Appends its AVPs, in the order of the fields.
            pub fn write_avps(&self, writer: &mut Writer<'_>) {
                $(grammar!(@write $rule self.$field, $key, writer);)*
            }
        }
    };
}

/// The same for a group: it is a [`Value`] too.
macro_rules! group {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? { $($body:tt)* }) => {
        grammar! { $(#[$doc])* $name $(<$life>)? { $($body)* } }

        impl<'a> Value<'a> for $name $(<$life>)? {
            #[inline]
            fn read(avp: &Avp<'a>) -> Result<Self, Failure<'a>> {
                Self::read_avps(avp.group()).map_err(|failure| failure.within(avp.key))
            }

            fn write(&self, key: Key, writer: &mut Writer<'_>) {
                let group = writer.open(key);
                self.write_avps(writer);
                writer.close(group);
            }
        }
    };
}

/// The same for a command: it is read from a message and written as one.
macro_rules! command {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? { $($body:tt)* } $($rest:tt)*) => {
        grammar! { $(#[$doc])* $name $(<$life>)? { $($body)* } $($rest)* }

        impl<'a> $name $(<$life>)? {
            /// Reads a message of this command; that it is one is the caller's to see.
            ///
            /// # Errors
            /// As [`Self::read_avps`] tells, and DIAMETER_INVALID_HDR_BITS.
            pub fn read(message: &Message<'a>) -> Result<Self, Failure<'a>> {
                message.header.check_request()?;
                Self::read_avps(message.avps())
            }

            /// Appends it as a message.
            ///
            /// # Errors
            /// It does not fit into one; `out` is as it was.
            pub fn write(&self, header: &Header, out: &mut Vec<u8>) -> Result<(), TooLong> {
                let mut writer = Writer::new(out, header);
                self.write_avps(&mut writer);
                writer.finish()
            }
        }
    };
}

pub(super) use {command, grammar, group};
