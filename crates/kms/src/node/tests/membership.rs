//! I10: a dead process is replaced by a new member; nothing else changes who votes.

use std::sync::atomic::{AtomicUsize, Ordering};

use siegel_ident::NodeId;

use super::super::{Input, Seat};
use super::faults::Faults;
use super::for_seeds;
use super::sim::Sim;

/// A follower dies and is replaced, then the leader: each by one joint swap, under loss, reordering and
/// doubles. Catches a fourth voter, a newcomer that votes before it knows anything, an admission that
/// sticks, and a snapshot without its configuration.
#[test]
fn follower_then_leader_are_replaced() {
    for_seeds("membership::follower_then_leader_are_replaced", |seed| {
        let mut sim = Sim::new(seed, Faults::lossy(seed));
        sim.run(100);
        for leader in [false, true] {
            sim.run_until_whole(400);
            let victim = match leader {
                true => sim.leader().unwrap(),
                false => sim.a_follower(),
            };
            let place = sim.place_of(victim);
            sim.kill(victim);
            sim.start_at(place);
            sim.run_until_whole(1500);
        }
        assert!(sim.used_ids.contains(&NodeId(5)));
        sim.heal();
        sim.must_serve(60);
        sim.must_agree();
    });
}

/// The same for as long as it takes, with partitions, and a death whenever the group is whole. In the
/// end it heals and must be whole.
#[test]
fn replaced_again_and_again_under_chaos() {
    let (replaced, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for_seeds("membership::replaced_again_and_again_under_chaos", |seed| {
        let size = if seed % 2 == 0 { 3 } else { 5 };
        let mut sim = Sim::of(size, seed, Faults::drawn(seed));
        sim.supervised = true;
        for _ in 0..60 {
            sim.run(30);
            sim.kill_one_of_a_whole_group();
        }
        sim.heal();
        sim.run_until_whole(3000);
        sim.must_serve(60);
        sim.must_agree();
        replaced.fetch_add(sim.used_ids.len() - size as usize, Ordering::Relaxed);
        runs.fetch_add(1, Ordering::Relaxed);
    });
    // Bad networks slow it down, good ones do not: two a run are a low bar over many seeds.
    let (replaced, runs) = (replaced.into_inner(), runs.into_inner());
    assert!(
        replaced >= 2 * runs,
        "{replaced} replacements in {runs} runs"
    );
}

/// Five members, so that the leader can die in any stage of an admission, and the newcomer too.
#[test]
fn a_half_done_admission_does_not_stick() {
    for_seeds("membership::a_half_done_admission_does_not_stick", |seed| {
        let mut sim = Sim::of(5, seed, Faults::lossy(seed));
        sim.run(100);
        sim.run_until_whole(400);
        let first = sim.a_follower();
        sim.kill(first);
        sim.supervised = true;
        let step = 20 + seed % 40;
        sim.run(step);
        match (seed / 40 % 2, sim.leader()) {
            (0, Some(leader)) => sim.kill(leader),
            _ => {
                let newest = sim.alive().into_iter().max().unwrap();
                sim.kill(newest);
            }
        }
        sim.run_until_whole(3000);
        sim.heal();
        sim.must_serve(60);
        sim.must_agree();
    });
}

/// A process that asks for a living member's place gets no id at all.
#[test]
fn a_live_member_is_never_swapped_out() {
    for_seeds("membership::a_live_member_is_never_swapped_out", |seed| {
        let mut sim = Sim::new(seed, Faults::none());
        sim.run(60);
        for place in 1..=3 {
            sim.start_at(NodeId(place));
        }
        sim.run(300);
        assert_eq!(sim.used_ids.len(), 3);
        assert_eq!(sim.alive().len(), 3);
        sim.must_serve(60);
    });
}

/// SIGSTOP, a replacement, SIGCONT: the old process is nobody. It is ignored, learns of it, and ends.
/// Catches a group that obeys it, and a woken leader that still answers.
#[test]
fn who_wakes_up_after_its_replacement_is_nobody() {
    for_seeds(
        "membership::who_wakes_up_after_its_replacement_is_nobody",
        |seed| {
            let mut sim = Sim::new(seed, Faults::lossy(seed));
            sim.run(100);
            sim.run_until_whole(400);
            let old = match seed % 2 {
                0 => sim.leader().unwrap(),
                _ => sim.a_follower(),
            };
            let place = sim.place_of(old);
            sim.pause(old);
            sim.start_at(place);
            sim.run_until_whole(1500);
            let before = sim.removed;
            sim.wake(old);
            sim.run(200);
            assert_eq!(sim.removed, before + 1, "it does not know");
            sim.run_until_whole(400);
            sim.heal();
            sim.must_serve(60);
            sim.must_agree();
        },
    );
}

/// A stopped process that wakes up before the swap keeps its place, and the newcomer is sent away.
#[test]
fn who_wakes_up_in_time_keeps_its_place() {
    for_seeds("membership::who_wakes_up_in_time_keeps_its_place", |seed| {
        let mut sim = Sim::new(seed, Faults::none());
        sim.run(60);
        let old = sim.a_follower();
        let place = sim.place_of(old);
        sim.pause(old);
        sim.start_at(place);
        let admitted = |sim: &Sim| {
            sim.leader()
                .is_some_and(|leader| sim.nodes[&leader].machine().members.joining().is_some())
        };
        while !admitted(&sim) {
            sim.run(1);
        }
        sim.wake(old);
        sim.run_until_whole(1000);
        sim.must_serve(60);
        sim.must_agree();
        let holder = sim.nodes[&old].machine().members.at(place).unwrap();
        assert_eq!(holder.id, old);
        // It dies after all: the next process gets an id of its own, not the one that was withdrawn.
        sim.kill(old);
        sim.start_at(place);
        sim.run_until_whole(1000);
        assert!(sim.used_ids.contains(&NodeId(5)));
    });
}

/// The member that is being replaced wakes up in the middle of the swap and becomes the leader: it must end
/// its own membership. Catches a removed leader that goes on (raft-rs panics in it), and
/// a joint configuration that nobody leaves.
#[test]
fn who_wakes_up_in_the_swap_may_lead_to_its_own_end() {
    let leaving = AtomicUsize::new(0);
    for_seeds(
        "membership::who_wakes_up_in_the_swap_may_lead_to_its_own_end",
        |seed| {
            let mut sim = Sim::of(5, seed, Faults::none());
            sim.run(100);
            let old = sim.a_follower();
            let place = sim.place_of(old);
            sim.pause(old);
            sim.start_at(place);
            while !sim.someone_swaps() {
                sim.run(1);
            }
            // Only the sleeper hears the leader now, so that the joint configuration stays.
            sim.wake(old);
            let leader = sim.leader().unwrap();
            for other in sim.alive().into_iter().filter(|other| *other != old) {
                sim.cut.insert((leader, other));
            }
            let joint = |sim: &Sim| !sim.nodes[&old].conf().voters_outgoing.is_empty();
            for _ in 0..30 {
                sim.run(u64::from(!joint(&sim)));
            }
            // The leader sleeps in turn, and the one that is being replaced stands for election.
            sim.pause(leader);
            sim.heal();
            for tick in 0..30 {
                // Often, but votes take a while.
                if tick % 5 == 0 {
                    sim.step(old, Input::Campaign);
                }
                sim.run(1);
                if sim.leader() == Some(old) && joint(&sim) {
                    leaving.fetch_add(1, Ordering::Relaxed);
                }
                if !sim.nodes.contains_key(&old) {
                    break;
                }
            }
            sim.wake(leader);
            sim.run_until_whole(3000);
            assert!(!sim.nodes.contains_key(&old), "it is a member again");
            sim.must_serve(60);
            sim.must_agree();
        },
    );
    assert!(
        leaving.into_inner() > 0 || super::seeds().len() < 50,
        "it never led"
    );
}

/// A member that was cut off during a replacement meets the newcomer as its leader. Catches a replica that
/// hears nobody whom it does not know yet, and stays behind for ever.
#[test]
fn who_missed_a_replacement_follows_the_newcomer() {
    for_seeds(
        "membership::who_missed_a_replacement_follows_the_newcomer",
        |seed| {
            let mut sim = Sim::of(5, seed, Faults::none());
            sim.run(60);
            let alone = sim.cut_off_a_follower();
            let mut others = sim.alive().into_iter();
            let victim = others
                .find(|id| *id != alone && Some(*id) != sim.leader())
                .unwrap();
            let place = sim.place_of(victim);
            sim.kill(victim);
            sim.start_at(place);
            let newcomer = NodeId(6);
            let votes = |sim: &Sim| {
                sim.nodes
                    .get(&newcomer)
                    .is_some_and(|node| node.seat() == Seat::Voter)
            };
            while !votes(&sim) {
                sim.run(1);
                // Nothing passes between the one that is alone and the newcomer either.
                sim.cut.extend([(alone, newcomer), (newcomer, alone)]);
            }
            while sim.leader() != Some(newcomer) {
                let leader = sim.leader();
                if let Some(leader) = leader {
                    sim.pause(leader);
                }
                for tick in 0..30 {
                    sim.run(1);
                    if tick > 12 {
                        sim.step(newcomer, Input::Campaign);
                    }
                }
                if let Some(leader) = leader {
                    sim.wake(leader);
                }
                sim.run(5);
            }
            sim.heal();
            sim.run_until_whole(400);
            assert_eq!(sim.leader(), Some(newcomer), "somebody else had to help");
            sim.must_serve(60);
            sim.must_agree();
        },
    );
}

/// Two of three die: nobody can be admitted any more, however many processes ask.
#[test]
fn a_lost_quorum_admits_nobody() {
    for_seeds("membership::a_lost_quorum_admits_nobody", |seed| {
        let mut sim = Sim::new(seed, Faults::lossy(seed));
        sim.run(100);
        sim.crash_one();
        sim.crash_one();
        sim.supervised = true;
        sim.run(600);
        assert_eq!(sim.used_ids.len(), 3);
        assert_eq!(sim.leaders(), 0);
    });
}
