//! The delays of the last packets, of which the adaptive buffer wants the third percentile from both ends.
//!
//! Asterisk keeps the last 500 delays and sorts. Here they are kept as four blocks of 125 with the sixteen highest and
//! sixteen lowest of each, which is all that the percentiles can touch: the window moves by blocks (375 to 500 delays)
//! instead of by one.

const BLOCKS: usize = 4;
const BLOCK_DELAYS: u8 = 125;
/// One more than the highest index asked for: 500 * 3 %.
const KEPT: usize = 16;

#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct History {
    /// Percentiles as of the last change.
    low: i16,
    high: i16,
    /// What a delay must be below or above to be kept in the current block.
    gate_low: i16,
    gate_high: i16,
    stale: bool,
    /// Delays in the current block and the number of full ones.
    filled: u8,
    full_blocks: u8,
    current: u8,
    /// Highest of each block, falling, and lowest, rising.
    highest: [[i16; KEPT]; BLOCKS],
    lowest: [[i16; KEPT]; BLOCKS],
}

impl Default for History {
    fn default() -> Self {
        History {
            low: 0,
            high: 0,
            gate_low: i16::MAX,
            gate_high: i16::MIN,
            stale: true,
            filled: 0,
            full_blocks: 0,
            current: 0,
            highest: [[i16::MIN; KEPT]; BLOCKS],
            lowest: [[i16::MAX; KEPT]; BLOCKS],
        }
    }
}

impl History {
    pub(super) fn clear(&mut self) {
        *self = History::default();
    }

    #[inline]
    pub(super) fn put(&mut self, delay: i32) {
        let delay = delay.clamp(-32_000, 32_000) as i16;
        if delay > self.gate_high || delay < self.gate_low {
            self.keep(delay);
        }
        let index = self.index();
        self.filled += 1;
        self.stale |= delay > self.high || delay < self.low || self.index() != index;
        if self.filled == BLOCK_DELAYS {
            self.next_block();
        }
    }

    /// Lowest and highest delay, three in a hundred left out at each end.
    #[inline]
    pub(super) fn bounds(&mut self) -> (i32, i32) {
        if self.stale {
            self.sort();
        }
        (i32::from(self.low), i32::from(self.high))
    }

    fn keep(&mut self, delay: i16) {
        let current = usize::from(self.current) % BLOCKS;
        if delay > self.gate_high {
            sink(&mut self.highest[current], delay, |a, b| (a.max(b), a.min(b)));
            self.gate_high = self.highest[current][KEPT - 1];
        }
        if delay < self.gate_low {
            sink(&mut self.lowest[current], delay, |a, b| (a.min(b), a.max(b)));
            self.gate_low = self.lowest[current][KEPT - 1];
        }
    }

    #[inline]
    fn index(&self) -> usize {
        let delays = usize::from(self.full_blocks) * usize::from(BLOCK_DELAYS) + usize::from(self.filled);
        delays * 3 / 100
    }

    #[cold]
    fn next_block(&mut self) {
        self.filled = 0;
        self.full_blocks = (self.full_blocks + 1).min(BLOCKS as u8 - 1);
        self.current = (self.current + 1) % BLOCKS as u8;
        let current = usize::from(self.current);
        self.highest[current] = [i16::MIN; KEPT];
        self.lowest[current] = [i16::MAX; KEPT];
        (self.gate_low, self.gate_high) = (i16::MAX, i16::MIN);
        self.stale = true;
    }

    #[cold]
    fn sort(&mut self) {
        self.stale = false;
        if usize::from(self.full_blocks) + usize::from(self.filled) == 0 {
            return;
        }
        let index = self.index().min(KEPT - 1);
        self.high = nth(&self.highest, index, |a, b| a > b);
        self.low = nth(&self.lowest, index, |a, b| a < b);
    }
}

/// Puts a value into a sorted list and lets the last one fall out.
#[inline]
fn sink(list: &mut [i16; KEPT], mut value: i16, order: impl Fn(i16, i16) -> (i16, i16)) {
    for kept in list {
        (*kept, value) = order(*kept, value);
    }
}

/// The value at `index` of all lists together.
fn nth(lists: &[[i16; KEPT]; BLOCKS], index: usize, before: impl Fn(i16, i16) -> bool) -> i16 {
    let mut heads = [0usize; BLOCKS];
    let mut value = 0;
    for _ in 0..=index {
        let mut best = None;
        for (list, &head) in heads.iter().enumerate() {
            let Some(&candidate) = lists[list].get(head) else { continue };
            if best.is_none_or(|(_, v)| before(candidate, v)) {
                best = Some((list, candidate));
            }
        }
        let Some((list, v)) = best else { break };
        heads[list] += 1;
        value = v;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The percentiles of a plain sorted window that moves by blocks.
    #[test]
    fn percentiles_are_those_of_the_sorted_window() {
        let (mut history, mut all, mut seed) = (History::default(), Vec::new(), 7u32);
        for n in 1..=1500usize {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let delay = (seed >> 20) as i32 - 2000;
            history.put(delay);
            all.push(delay);
            let mut window = all[(n / 125).saturating_sub(3) * 125..].to_vec();
            window.sort_unstable();
            let index = window.len() * 3 / 100;
            assert_eq!(history.bounds(), (window[index], window[window.len() - 1 - index]), "after {n}");
        }
    }
}
