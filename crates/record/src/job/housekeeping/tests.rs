use super::*;

/// More segments than are handed over at once wait for room: each is tried again, not the newest alone.
#[test]
fn all_that_wait_for_room_have_their_turn() {
    let all: Vec<PathBuf> = (0..PACKS_MAX * 2 + 10).map(|n| PathBuf::from(n.to_string())).collect();
    let plain = |max: usize, skip: &HashSet<PathBuf>| -> Vec<PathBuf> {
        all.iter().filter(|path| !skip.contains(*path)).take(max).cloned().collect()
    };
    let mut state = State::new(Keep::default());
    let mut tried = std::collections::HashMap::<PathBuf, u32>::new();
    let turns = all.len().div_ceil(PACKS_MAX);
    for turn in 1..=4 * turns {
        for path in state.next_packs(plain) {
            state.no_room(&path);
            *tried.entry(path).or_default() += 1;
        }
        if turn % turns == 0 {
            let times = (turn / turns) as u32;
            assert!(all.iter().all(|path| tried.get(path) == Some(&times)), "{times}: {tried:?}");
        }
    }
    assert_eq!(state.report.counters.roomless as usize, all.len(), "each is counted once");
    // One that there is room for by now is the next, whoever waits.
    state.roomless.remove(&all[all.len() - 1]);
    assert_eq!(state.next_packs(plain), [all[all.len() - 1].clone()]);
}
