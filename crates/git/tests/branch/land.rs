//! Tests landing: finished work is merged into the person's branch as one commit, and the files of the person's
//! worktree change with it.

use std::fs;
use std::path::Path;

use git::GitProblem;
use git::land::{
    Landing, LandingPlan, LandingRecord, LandingRefusal, LandingRequest, LandingResult, land, plan_landing,
    undo_landing,
};

use crate::scene::{Scene, alone, author, git, program, runtime, save, script};
use crate::stops::{at_each_call, is_stopped, stopped_scene};

const WORK: &str = "handover/1-work";

/// Sets the name of the person in git's configuration, and makes a branch with finished work: two commits that change
/// `a.txt`, add `new.txt` and remove `old.txt`.
fn finished(scene: &Scene) -> LandingRequest {
    scene.git(&["config", "user.name", "Pat Person"]);
    scene.git(&["config", "user.email", "pat@example.com"]);
    save(&scene.home, "old.txt", "old\n");
    let base = save(&scene.home, "b.txt", "b\n");
    let place = scene.beside("work");
    scene.git(&["worktree", "add", "--quiet", "-b", WORK, place.to_str().unwrap()]);
    save(&place, "new.txt", "new\n");
    fs::remove_file(place.join("old.txt")).unwrap();
    save(&place, "a.txt", "ONE\ntwo\nthree\n");
    scene.git(&["worktree", "remove", "--force", place.to_str().unwrap()]);
    let (repository, message) = (scene.home.clone(), "Fix the login\n\nIt kept no address.".to_owned());
    LandingRequest { repository, work: WORK.to_owned(), base, target: None, message, agent: author() }
}

async fn ready(scene: &Scene, request: &LandingRequest) -> Landing {
    let plan = plan_landing(&scene.git, request).await.unwrap();
    let LandingPlan::Ready(landing) = plan else { panic!("{plan:?}") };
    landing
}

async fn landed(scene: &Scene, landing: &Landing) -> LandingRecord {
    match land(&scene.git, landing).await.unwrap() {
        LandingResult::Done(record) => record,
        LandingResult::Refused(refusal) => panic!("{refusal}"),
    }
}

async fn refused(scene: &Scene, landing: &Landing) -> LandingRefusal {
    match land(&scene.git, landing).await.unwrap() {
        LandingResult::Refused(refusal) => refusal,
        LandingResult::Done(record) => panic!("{record:?}"),
    }
}

async fn undone(scene: &Scene, record: &LandingRecord) -> LandingResult {
    undo_landing(&scene.git, &scene.home, record).await.unwrap()
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

fn head(scene: &Scene) -> String {
    scene.git(&["rev-parse", "HEAD"])
}

alone! {
    fn work_lands_as_one_commit_of_the_person(scene) {
        let request = finished(&scene);
        let (before, status) = (head(&scene), scene.git(&["status", "--porcelain"]));
        let landing = ready(&scene, &request).await;
        assert_eq!((head(&scene), scene.git(&["status", "--porcelain"])), (before.clone(), status), "a plan changes nothing");
        assert_eq!((landing.target.as_str(), landing.tip.as_str()), ("main", before.as_str()));
        assert_eq!((landing.is_moved, landing.moved_commits), (false, 0));
        let changes = &landing.changes;
        assert_eq!((changes.files, changes.added, changes.removed), (3, 2, 2));
        let record = landed(&scene, &landing).await;
        assert_eq!(record, LandingRecord {
            target: "main".to_owned(), before: before.clone(), after: landing.commit.clone(), work: WORK.to_owned(),
        });
        assert_eq!(head(&scene), landing.commit);
        assert_eq!(scene.git(&["status", "--porcelain"]), "");
        assert_eq!(read(&scene.home, "a.txt"), "ONE\ntwo\nthree\n");
        assert!(!scene.home.join("old.txt").exists());
        let message = scene.git(&["show", "-s", "--format=%an|%ae|%cn|%p|%B", "HEAD"]);
        let short = scene.git(&["rev-parse", "--short", &before]);
        let expected = "Fix the login\n\nIt kept no address.\n\nCo-authored-by: Quinn  the  Tester <quinn@handover>";
        assert_eq!(message, format!("Pat Person|pat@example.com|Pat Person|{short}|{expected}"));
        assert_eq!(landed(&scene, &landing).await, record, "a second call finds it done");
        let again = plan_landing(&scene.git, &request).await.unwrap();
        assert_eq!(again, LandingPlan::Nothing { target: "main".to_owned(), tip: landing.commit.clone() });
        save(&scene.home, "later.txt", "");
        assert_eq!(landed(&scene, &landing).await, record, "also when commits came after it");
    }

    fn a_target_that_moved_is_merged(scene) {
        let request = finished(&scene);
        save(&scene.home, "b.txt", "of the person\n");
        let landing = ready(&scene, &request).await;
        assert_eq!((landing.is_moved, landing.moved_commits), (true, 1));
        landed(&scene, &landing).await;
        assert_eq!((read(&scene.home, "a.txt"), read(&scene.home, "b.txt")),
            ("ONE\ntwo\nthree\n".to_owned(), "of the person\n".to_owned()));
        // A landing that was computed for an older tip of the person's branch is refused.
        let other = LandingRequest { message: "again".to_owned(), ..request.clone() };
        scene.git(&["reset", "--quiet", "--hard", &landing.tip]);
        let stale = ready(&scene, &other).await;
        let found = save(&scene.home, "b.txt", "again\n");
        let (target, expected) = ("main".to_owned(), stale.tip.clone());
        assert_eq!(refused(&scene, &stale).await, LandingRefusal::TargetMoved { target, expected, found: found.clone() });
        assert_eq!(head(&scene), found);
        // The person and the agent changed the same line, so there is a conflict.
        save(&scene.home, "a.txt", "of the person\ntwo\nthree\n");
        let plan = plan_landing(&scene.git, &request).await.unwrap();
        assert_eq!(plan, LandingPlan::Conflict { target: "main".to_owned(), paths: vec!["a.txt".to_owned()], more: false });
    }

    fn work_on_top_of_landed_work_lands_alone(scene) {
        let request = finished(&scene);
        let first = scene.git(&["rev-parse", WORK]);
        let place = scene.beside("second");
        scene.git(&["worktree", "add", "--quiet", "-b", "handover/2-more", place.to_str().unwrap(), WORK]);
        save(&place, "more.txt", "more\n");
        landed(&scene, &ready(&scene, &request).await).await;
        // The landed work of the first task has changed a line. Now the person changes this line again. The work of the
        // second task does not change it.
        save(&scene.home, "a.txt", "PERSON\ntwo\nthree\n");
        let second = LandingRequest { work: "handover/2-more".to_owned(), base: first, ..request };
        let landing = ready(&scene, &second).await;
        assert_eq!(landing.changes.list.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["more.txt"]);
        landed(&scene, &landing).await;
        assert_eq!(read(&scene.home, "a.txt"), "PERSON\ntwo\nthree\n");
    }

    fn uncommitted_changes_in_other_files_stay(scene) {
        let request = finished(&scene);
        save(&scene.home, "c.txt", "c\n");
        let record = {
            fs::write(scene.home.join("b.txt"), "unstaged\n").unwrap();
            fs::write(scene.home.join("c.txt"), "staged\n").unwrap();
            scene.git(&["add", "c.txt"]);
            fs::write(scene.home.join("untracked.txt"), "u").unwrap();
            let status = scene.git(&["status", "--porcelain"]);
            let record = landed(&scene, &ready(&scene, &request).await).await;
            assert_eq!(scene.git(&["status", "--porcelain"]), status);
            record
        };
        assert_eq!(undone(&scene, &record).await, LandingResult::Done(record.clone()));
        assert_eq!((head(&scene), read(&scene.home, "old.txt")), (record.before.clone(), "old\n".to_owned()));
        assert!(!scene.home.join("new.txt").exists());
        let kept = ["b.txt", "c.txt", "untracked.txt"].map(|file| read(&scene.home, file));
        assert_eq!(kept, ["unstaged\n", "staged\n", "u"]);
        assert_eq!(undone(&scene, &record).await, LandingResult::Done(record), "a second call finds it undone");
    }

    fn files_of_the_person_are_not_overwritten(scene) {
        let request = finished(&scene);
        scene.git(&["config", "core.excludesFile", scene.beside("excludes").to_str().unwrap()]);
        let landing = ready(&scene, &request).await;
        let path = scene.home.clone();
        let local = |file: &str| LandingRefusal::LocalChanges { path: path.clone(), files: vec![file.to_owned()] };
        let in_the_way = || LandingRefusal::InTheWay { path: path.clone(), files: vec!["new.txt".to_owned()] };
        for (file, text, is_staged, is_ignored, expected) in [
            ("a.txt", "mine", false, false, local("a.txt")),
            ("a.txt", "mine", true, false, local("a.txt")),
            ("old.txt", "mine", false, false, local("old.txt")),
            ("new.txt", "mine", false, false, in_the_way()),
            ("new.txt", "mine", false, true, in_the_way()),
            ("new.txt", "mine", true, false, local("new.txt")),
        ] {
            fs::write(scene.beside("excludes"), if is_ignored { "new.txt\n" } else { "" }).unwrap();
            fs::write(scene.home.join(file), text).unwrap();
            if is_staged {
                scene.git(&["add", file]);
            }
            let status = scene.git(&["status", "--porcelain", "--ignored"]);
            assert_eq!(refused(&scene, &landing).await, expected, "{file} {is_staged} {is_ignored}");
            assert_eq!((head(&scene), read(&scene.home, file)), (landing.tip.clone(), text.to_owned()));
            assert_eq!(scene.git(&["status", "--porcelain", "--ignored"]), status);
            scene.git(&["reset", "--quiet", "--hard"]);
            scene.git(&["clean", "--quiet", "-fdx"]);
        }
        let record = landed(&scene, &landing).await;
        fs::write(scene.home.join("a.txt"), "mine").unwrap();
        assert_eq!(undone(&scene, &record).await, LandingResult::Refused(local("a.txt")));
        scene.git(&["checkout", "--quiet", "a.txt"]);
        fs::write(scene.home.join("old.txt"), "mine").unwrap();
        let files = vec!["old.txt".to_owned()];
        assert_eq!(undone(&scene, &record).await, LandingResult::Refused(LandingRefusal::InTheWay { path, files }));
        assert_eq!(read(&scene.home, "old.txt"), "mine");
    }

    fn other_targets_move_with_their_worktree_or_alone(scene) {
        let request = finished(&scene);
        scene.git(&["branch", "release"]);
        let linked = scene.beside("linked");
        scene.git(&["worktree", "add", "--quiet", "-b", "develop", linked.to_str().unwrap()]);
        let main = head(&scene);
        for target in ["release", "develop"] {
            let request = LandingRequest { target: Some(target.to_owned()), ..request.clone() };
            let landing = ready(&scene, &request).await;
            let record = landed(&scene, &landing).await;
            assert_eq!(scene.git(&["rev-parse", target]), landing.commit);
            assert_eq!(git(&linked, &["status", "--porcelain"]), "", "{target}");
            assert_eq!(linked.join("new.txt").exists(), target == "develop");
            assert_eq!((head(&scene), scene.git(&["status", "--porcelain"])), (main.clone(), String::new()));
            assert_eq!(undone(&scene, &record).await, LandingResult::Done(record.clone()));
            assert_eq!(scene.git(&["rev-parse", target]), record.before);
            assert_eq!(git(&linked, &["status", "--porcelain"]), "", "{target}");
        }
        let missing = LandingRequest { target: Some("nowhere".to_owned()), ..request };
        let plan = plan_landing(&scene.git, &missing).await.unwrap();
        assert_eq!(plan, LandingPlan::Refused(LandingRefusal::BranchMissing { branch: "nowhere".to_owned() }));
    }

    fn nothing_moves_during_an_operation_of_git(scene) {
        let request = finished(&scene);
        let landing = ready(&scene, &request).await;
        scene.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
        save(&scene.home, "b.txt", "side\n");
        scene.git(&["checkout", "--quiet", "main"]);
        for (operation, arguments, end) in [
            ("merge", &["merge", "side"][..], &["merge", "--abort"][..]),
            ("rebase", &["rebase", "side"], &["rebase", "--abort"]),
            ("cherry-pick", &["cherry-pick", "side"], &["cherry-pick", "--abort"]),
            ("bisect", &["bisect", "start", "HEAD", "HEAD~2"], &["bisect", "reset"]),
        ] {
            let mut command = program(Path::new("git"));
            command.current_dir(&scene.home).args(["-c", "user.name=T", "-c", "user.email=t@x"]).args(arguments);
            command.output().unwrap();
            let command = format!("git {}", end.join(" "));
            let plan = plan_landing(&scene.git, &request).await.unwrap();
            let LandingPlan::Refused(planned) = plan else { panic!("{operation}: {plan:?}") };
            for refusal in [refused(&scene, &landing).await.to_string(), planned.to_string()] {
                assert!(refusal.contains(&format!("a {operation};")) && refusal.ends_with(&command), "{refusal}");
            }
            assert_eq!(scene.git(&["rev-parse", "main"]), landing.tip);
            scene.git(end);
        }
        scene.git(&["checkout", "--quiet", "--detach"]);
        let plan = plan_landing(&scene.git, &request).await.unwrap();
        assert_eq!(plan, LandingPlan::Refused(LandingRefusal::Detached { path: scene.home.clone() }));
    }

    fn later_commits_are_not_undone(scene) {
        let request = finished(&scene);
        let record = landed(&scene, &ready(&scene, &request).await).await;
        let found = save(&scene.home, "later.txt", "later");
        let (target, landed) = ("main".to_owned(), record.after.clone());
        let refusal = LandingRefusal::CameAfter { target, landed, found: found.clone() };
        assert!(refusal.to_string().contains(&format!("git revert {}", &record.after[..7])), "{refusal}");
        assert_eq!(undone(&scene, &record).await, LandingResult::Refused(refusal));
        assert_eq!(head(&scene), found);
    }

    fn work_with_state_and_a_person_without_a_name_are_refused(scene) {
        let request = finished(&scene);
        scene.git(&["config", "--unset", "user.name"]);
        let problem = plan_landing(&scene.git, &request).await.unwrap_err();
        assert_eq!(problem, GitProblem::IdentityMissing);
        for command in ["git config --global user.name", "git config --global user.email"] {
            assert!(problem.suggestion().contains(command), "{}", problem.suggestion());
        }
        scene.git(&["checkout", "--quiet", WORK]);
        fs::create_dir_all(scene.home.join(".handover/state")).unwrap();
        save(&scene.home, ".handover/state/token", "secret");
        scene.git(&["checkout", "--quiet", "main"]);
        let path = ".handover/state".to_owned();
        assert_eq!(plan_landing(&scene.git, &request).await.unwrap(), LandingPlan::HasState { path });
    }

    fn no_program_of_the_configuration_runs(scene) {
        let request = finished(&scene);
        let (mark, evil) = (scene.beside("mark"), scene.beside("evil"));
        script(&evil, &format!("echo \"$0 $*\" >> '{}'; cat", mark.display()));
        let program = evil.to_str().unwrap();
        for hook in ["post-merge", "pre-merge-commit", "post-checkout", "reference-transaction", "post-index-change"] {
            script(&scene.home.join(".git/hooks").join(hook), &format!("echo {hook} >> '{}'", mark.display()));
        }
        for (key, value) in [
            ("core.fsmonitor", program), ("core.editor", program), ("gpg.program", program), ("commit.gpgSign", "true"),
            ("merge.verifySignatures", "false"), ("filter.f.smudge", program), ("filter.f.clean", program),
            ("branch.main.mergeOptions", "--strategy=evil -S"), ("trailer.x.command", program), ("merge.ff", "false"),
        ] {
            scene.git(&["config", key, value]);
        }
        drop(fs::remove_file(&mark));
        let landing = ready(&scene, &request).await;
        let record = landed(&scene, &landing).await;
        undone(&scene, &record).await;
        assert_eq!(fs::read_to_string(&mark).unwrap_or_default(), "");
        // Handover does not run filter programs. Without its filter program the file `new.txt` would get wrong content,
        // so the landing (a merge into the person's branch) is refused.
        fs::write(scene.home.join(".git/info/attributes"), "new.txt filter=f\n").unwrap();
        let refusal = refused(&scene, &landing).await;
        assert!(refusal.to_string().contains("filter program"), "{refusal}");
        assert_eq!(fs::read_to_string(&mark).unwrap_or_default(), "");
    }

    fn landing_can_be_stopped_at_any_call(_scene) {
        at_each_call(4, is_landed);
    }
}

#[test]
fn landed_in_a_process_of_its_own() {
    let Some(scene) = stopped_scene() else { return };
    let landing = fs::read_to_string(scene.home.with_file_name("landing")).unwrap();
    let landing: Landing = serde_json::from_str(&landing).unwrap();
    runtime().block_on(async {
        let record = landed(&scene, &landing).await;
        if scene.home.with_file_name("undo").exists() {
            undone(&scene, &record).await;
        }
    });
}

/// Checks that a landing (a merge into the person's branch) that is killed at git call number `stop` moved either
/// nothing or everything, and that a second call completes it. Returns false when there was no such git call.
fn is_landed(stop: u32) -> bool {
    const LAND: &str = "land::landed_in_a_process_of_its_own";
    let scene = Scene::new();
    let request = finished(&scene);
    let landing = runtime().block_on(ready(&scene, &request));
    fs::write(scene.home.join("b.txt"), "unstaged\n").unwrap();
    fs::write(scene.home.with_file_name("landing"), serde_json::to_string(&landing).unwrap()).unwrap();
    let is_stopped_once = is_stopped(LAND, &scene.home, stop);
    let is_moved = head(&scene) == landing.commit;
    assert!(is_moved || head(&scene) == landing.tip, "{stop}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "M b.txt", "{stop}");
    assert_eq!(scene.home.join("new.txt").exists(), is_moved, "{stop}");
    assert!(!is_stopped(LAND, &scene.home, 0), "{stop}");
    assert_eq!(head(&scene), landing.commit, "{stop}");
    // Now undo the landing (a merge into the person's branch). Kill the undo at a git call, and then repeat the undo.
    fs::write(scene.home.with_file_name("undo"), "").unwrap();
    is_stopped(LAND, &scene.home, stop + 3);
    assert!(!is_stopped(LAND, &scene.home, 0), "{stop}");
    assert_eq!(scene.git(&["status", "--porcelain"]), "M b.txt", "{stop}");
    assert_eq!((head(&scene), scene.home.join("new.txt").exists()), (landing.tip, false), "{stop}");
    is_stopped_once
}
