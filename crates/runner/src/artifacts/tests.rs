//! Tests that the files of an output are written completely or not at all, even when the process is stopped at any
//! step, when the disk is full, and when paths and links are hostile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::process::{Signal, getpid, kill_process};
use tempfile::TempDir;

use super::*;

/// The environment variable that tells a test process the step (change of the disk) at which it is killed.
const STOP_AT: &str = "HANDOVER_TEST_STOP_AT";
/// The environment variables that tell a test process which output it writes, and in which folder.
const OUTPUT: &str = "HANDOVER_TEST_OUTPUT";
const FOLDER: &str = "HANDOVER_TEST_FOLDER";
static STEPS: AtomicU32 = AtomicU32::new(0);

pub(super) fn step() {
    let Some(stop) = std::env::var(STOP_AT).ok().and_then(|stop| stop.parse::<u32>().ok()) else { return };
    if STEPS.fetch_add(1, Ordering::SeqCst) + 1 == stop {
        kill_process(getpid(), Signal::KILL).unwrap();
    }
}

/// Every path of a workspace with its permissions and content. Folders have no content.
type ArtifactTree = BTreeMap<String, (u32, Option<String>)>;

struct ArtifactScene {
    folder: TempDir,
}

impl ArtifactScene {
    fn new() -> Self {
        let scene = Self { folder: TempDir::new().unwrap() };
        fs::create_dir_all(scene.root().join("dir")).unwrap();
        for (path, mode) in [("keep.txt", 0o644), ("run.sh", 0o755), ("dir/old.txt", 0o600), ("mine.txt", 0o640)] {
            let path = scene.root().join(path);
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        scene
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn tree(&self) -> ArtifactTree {
        tree(&self.root())
    }

    fn apply(&self, artifacts: &[CheckedArtifact]) -> Result<AppliedArtifacts, ArtifactProblem> {
        apply(&self.root(), &self.journal(), artifacts, &made())
    }

    /// Writes an output in a separate process that is killed at the step `stop`. Returns false when the process ended
    /// before that step.
    fn is_stopped(&self, output: &str, stop: u32) -> bool {
        let mut command = this_test("applied_in_a_process_of_its_own");
        command.env(FOLDER, self.folder.path()).env(OUTPUT, output).env(STOP_AT, stop.to_string());
        let output = command.output().unwrap();
        assert!(output.status.success() || output.status.code().is_none(), "{output:?}");
        !output.status.success()
    }
}

fn this_test(name: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts itself")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("{}::{name}", module_path!().split_once("::").unwrap().1)]);
    command
}

fn tree(root: &Path) -> ArtifactTree {
    let mut tree = ArtifactTree::new();
    collect(root, "", &mut tree);
    tree
}

fn collect(folder: &Path, prefix: &str, tree: &mut ArtifactTree) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        let data = entry.metadata().unwrap();
        let mode = data.permissions().mode() & 0o7777;
        if data.is_dir() {
            collect(&entry.path(), &format!("{name}/"), tree);
            tree.insert(name, (mode, None));
        } else {
            let content = fs::read_to_string(entry.path()).unwrap_or_default();
            tree.insert(name, (mode, Some(content)));
        }
    }
}

fn made() -> BTreeSet<String> {
    ["mine.txt".to_owned(), "gone.txt".to_owned()].into()
}

fn create(path: &str, content: &str) -> CheckedArtifact {
    CheckedArtifact { path: path.to_owned(), operation: ArtifactOperation::Create, content: content.to_owned() }
}

fn update(path: &str, content: &str) -> CheckedArtifact {
    CheckedArtifact { operation: ArtifactOperation::Update, ..create(path, content) }
}

fn output(name: &str) -> Vec<CheckedArtifact> {
    match name {
        "first" => vec![
            update("run.sh", "new run"),
            update("dir/old.txt", "new old"),
            create("new.txt", "new"),
            create("deep/er/x.txt", "x"),
            create("./deep/../deep/er//y.txt", ""),
            create("mine.txt", "mine again"),
            update("gone.txt", "back"),
        ],
        _ => vec![update("run.sh", "other run"), create("new.txt", "other new"), create("deep/z.txt", "z")],
    }
}

fn whole(before: &ArtifactTree) -> ArtifactTree {
    let mut tree = before.clone();
    let file = |mode, text: &str| (mode, Some(text.to_owned()));
    tree.insert("run.sh".to_owned(), file(0o755, "new run"));
    tree.insert("dir/old.txt".to_owned(), file(0o600, "new old"));
    tree.insert("mine.txt".to_owned(), file(0o640, "mine again"));
    for (path, text) in [("new.txt", "new"), ("deep/er/x.txt", "x"), ("deep/er/y.txt", ""), ("gone.txt", "back")] {
        tree.insert(path.to_owned(), file(0o644, text));
    }
    for folder in ["deep", "deep/er"] {
        tree.insert(folder.to_owned(), (0o755, None));
    }
    tree
}

fn unfit(path: &str, why: ArtifactReason) -> ArtifactProblem {
    ArtifactProblem::Unfit(vec![Unfit { path: path.to_owned(), why }])
}

#[test]
fn applied_in_a_process_of_its_own() {
    let (Some(folder), Ok(name)) = (std::env::var_os(FOLDER), std::env::var(OUTPUT)) else { return };
    let folder = PathBuf::from(folder);
    apply(&folder.join("root"), &folder.join("journal"), &output(&name), &made()).unwrap();
}

#[test]
fn a_whole_output_comes_and_comes_once() {
    let scene = ArtifactScene::new();
    let expected = whole(&scene.tree());
    let applied = scene.apply(&output("first")).unwrap();
    assert_eq!(applied.paths[3..5], ["deep/er/x.txt", "deep/er/y.txt"]);
    assert_eq!(applied.finished, Vec::<String>::new());
    assert_eq!(scene.tree(), expected);
    fs::write(scene.root().join("new.txt"), "changed since").unwrap();
    assert_eq!(scene.apply(&output("first")), Ok(applied));
    assert_eq!(fs::read_to_string(scene.root().join("new.txt")).unwrap(), "changed since");
    assert_eq!(scene.apply(&[]).unwrap().paths, Vec::<String>::new());
}

#[test]
fn stopped_at_any_step_it_is_all_or_none() {
    let mut seen = BTreeSet::new();
    for stop in 1.. {
        let scene = ArtifactScene::new();
        let before = scene.tree();
        let is_stopped = scene.is_stopped("first", stop);
        let recovered = recover(&scene.root(), &scene.journal()).unwrap();
        let tree = scene.tree();
        let expected = match recovered {
            Recovered::Finished { .. } => whole(&before),
            // If the process was killed after its last step, all files are written and there is nothing to recover.
            Recovered::Nothing if tree == whole(&before) => whole(&before),
            Recovered::Undone | Recovered::Nothing => before.clone(),
        };
        assert_eq!(tree, expected, "step {stop}: {recovered:?}");
        seen.insert(format!("{recovered:?}").split(' ').next().unwrap().to_owned());
        scene.apply(&output("first")).unwrap();
        assert_eq!(scene.tree(), whole(&before), "step {stop}");
        if !is_stopped {
            assert!(stop > 50, "{stop}");
            break;
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["Finished", "Nothing", "Undone"]);
}

#[test]
fn stopped_again_and_again_it_comes_to_its_end() {
    for first in (1..75).step_by(3) {
        let scene = ArtifactScene::new();
        let before = scene.tree();
        scene.is_stopped("first", first);
        let mut stops = 0;
        // Each try to finish the output is killed a few steps later than the one before, so that the output is finished
        // in the end.
        while scene.is_stopped("first", 5 + stops * 4) {
            stops += 1;
        }
        assert_eq!(scene.tree(), whole(&before), "step {first}");
    }
}

#[test]
fn another_output_follows_one_that_was_stopped() {
    let files = [("run.sh", 0o755, "other run"), ("new.txt", 0o644, "other new"), ("deep/z.txt", 0o644, "z")];
    for stop in 1..80 {
        let scene = ArtifactScene::new();
        let before = scene.tree();
        scene.is_stopped("first", stop);
        let applied = scene.apply(&output("second")).unwrap();
        let is_first_there = scene.tree().contains_key("deep/er/x.txt");
        let mut expected = if is_first_there { whole(&before) } else { before };
        for (path, mode, text) in files {
            expected.insert(path.to_owned(), (mode, Some(text.to_owned())));
        }
        expected.insert("deep".to_owned(), (0o755, None));
        assert_eq!(scene.tree(), expected, "step {stop}: {applied:?}");
        assert!(is_first_there || applied.finished.is_empty());
    }
}

#[test]
fn a_part_that_was_swept_away_is_written_again() {
    for stop in 1..80 {
        let scene = ArtifactScene::new();
        let before = scene.tree();
        scene.is_stopped("first", stop);
        for (path, _) in scene.tree() {
            if path.ends_with("-2.part") {
                fs::remove_file(scene.root().join(path)).unwrap();
            }
        }
        scene.apply(&output("first")).unwrap();
        assert_eq!(scene.tree(), whole(&before), "step {stop}");
    }
}

#[test]
fn what_does_not_fit_changes_nothing_and_is_named() {
    let scene = ArtifactScene::new();
    symlink("keep.txt", scene.root().join("link")).unwrap();
    symlink("dir", scene.root().join("folder-link")).unwrap();
    let before = scene.tree();
    let table = [
        (create("keep.txt", ""), ArtifactReason::Exists),
        (create("dir", ""), ArtifactReason::Exists),
        (create("link", ""), ArtifactReason::Exists),
        (create("keep.txt/x", ""), ArtifactReason::Exists),
        (create("folder-link/x", ""), ArtifactReason::Exists),
        (create("folder-link/x/y", ""), ArtifactReason::Exists),
        (update("nothing", ""), ArtifactReason::Missing),
        (update("no/thing", ""), ArtifactReason::Missing),
        (update("dir", ""), ArtifactReason::Missing),
        (update("link", ""), ArtifactReason::Missing),
        (update("folder-link/old.txt", ""), ArtifactReason::Missing),
        (update("keep.txt/x", ""), ArtifactReason::Missing),
    ];
    for (artifact, why) in table {
        let path = artifact.path.clone();
        assert_eq!(scene.apply(&[create("fine", ""), artifact]), Err(unfit(&path, why)));
    }
    let all = scene.apply(&[create("keep.txt", ""), update("nothing", "")]).unwrap_err();
    assert_eq!(all.codes(), ["ARTIFACT_EXISTS:keep.txt", "ARTIFACT_MISSING:nothing"]);
    assert_eq!(scene.tree(), before);
    assert_eq!(fs::read_dir(scene.journal()).unwrap().count(), 0);
}

#[test]
fn hostile_paths_are_refused() {
    let scene = ArtifactScene::new();
    let before = scene.tree();
    let outside = [
        "",
        ".",
        "..",
        "/",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a/",
        "a/.",
        "a/..",
        "a\\b",
        "a\0b",
        ".git",
        ".GIT/x",
        "a/.Git/hooks/x",
        "./.gIt",
        "a/../.git/config",
        "dir/..",
        "/dev/null",
    ];
    for path in outside {
        assert_eq!(scene.apply(&[create(path, "")]), Err(unfit(path, ArtifactReason::Outside)), "{path:?}");
    }
    for (one, other) in [("a", "a"), ("a", "./a"), ("a", "a/b"), ("a/b", "a"), ("x/../a", "a//b/c")] {
        let Err(ArtifactProblem::Unfit(found)) = scene.apply(&[create(one, ""), create(other, "")]) else {
            panic!("{one}")
        };
        assert!(matches!(found[..], [Unfit { why: ArtifactReason::Duplicate, .. }]), "{found:?}");
    }
    let many = vec![create("a", ""); ARTIFACTS_MAX + 1];
    assert_eq!(scene.apply(&many), Err(ArtifactProblem::TooMany { count: ARTIFACTS_MAX + 1 }));
    let large = [create("a", &"x".repeat(BYTES_MAX)), create("b", "x")];
    assert_eq!(scene.apply(&large), Err(ArtifactProblem::TooLarge { bytes: BYTES_MAX + 1 }));
    assert_eq!(scene.tree(), before);
}

#[test]
fn odd_names_are_names() {
    let scene = ArtifactScene::new();
    let odd = [".gitignore", ".github/x", "a b", "-rf", "ünï", "$(x)", "a\nb", "...", "git", ".handover-1.part"];
    scene.apply(&odd.map(|path| create(path, path))).unwrap();
    for path in odd {
        assert_eq!(fs::read_to_string(scene.root().join(path)).unwrap(), path);
    }
    scene.apply(&[create(&"n".repeat(255), "")]).unwrap();
    let before = scene.tree();
    let problem = scene.apply(&[create("first", ""), create(&"n".repeat(256), "")]).unwrap_err();
    assert!(matches!(problem, ArtifactProblem::Failed { .. }), "{problem:?}");
    assert_eq!(scene.tree(), before);
}

#[test]
fn a_link_that_is_swapped_in_leads_nowhere() {
    let scene = ArtifactScene::new();
    let outside = scene.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("victim"), "safe").unwrap();
    let (place, aside) = (scene.root().join("swap"), scene.root().join("aside"));
    fs::create_dir(&place).unwrap();
    fs::write(place.join("victim"), "ours").unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // Some of these calls fail, because the main thread of the test, which writes an output at the same
                // time, has just created a folder at this path.
                drop(fs::rename(&place, &aside));
                drop(symlink(&outside, &place));
                drop(fs::remove_file(&place));
                drop(fs::remove_dir_all(&place));
                drop(fs::rename(&aside, &place));
            }
        });
        let mut applied = 0;
        for number in 0..300 {
            let journal = scene.folder.path().join(format!("journal{number}"));
            let artifacts = [update("swap/victim", &number.to_string()), create(&format!("swap/{number}"), "x")];
            applied += u32::from(apply(&scene.root(), &journal, &artifacts, &BTreeSet::new()).is_ok());
        }
        stop.store(true, Ordering::Relaxed);
        assert!(applied < 300, "the swap was never met");
    });
    assert_eq!(fs::read_to_string(outside.join("victim")).unwrap(), "safe");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_thousand_come() {
    let scene = ArtifactScene::new();
    let artifacts: Vec<_> =
        (0..1_000).map(|number| create(&format!("many/{}/{number}", number % 30), &"x".repeat(16_000))).collect();
    scene.apply(&artifacts).unwrap();
    assert_eq!(scene.tree().len(), 5 + 1_000 + 31);
}

/// Writes outputs to a disk of 256 kB until it is full, and to a read-only folder. The test needs a user who may make a
/// mount namespace (`unshare`).
#[test]
fn on_a_full_or_locked_disk_it_is_all_or_none() {
    const DISK: &str = "HANDOVER_TEST_DISK";
    let Some(disk) = std::env::var_os(DISK) else {
        let folder = TempDir::new().unwrap();
        let script = "cd \"$HANDOVER_TEST_DISK\" && mount -t tmpfs -o size=256k,nr_inodes=40 none . && cd . || exit 99
            cd \"$HANDOVER_TEST_DISK\" && mkdir -p root/locked && mount -t tmpfs -o ro none root/locked || exit 99
            exec \"$@\"";
        let inner = this_test("on_a_full_or_locked_disk_it_is_all_or_none");
        #[expect(clippy::disallowed_methods, reason = "a test starts itself with a disk of its own")]
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]);
        command.arg(inner.get_program()).args(inner.get_args()).env(DISK, folder.path());
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let has_disk = output.status.code() != Some(99) && !told.starts_with("unshare");
        assert!(has_disk, "the test needs a user who may mount a disk in a namespace: {told}");
        assert!(output.status.success(), "{}{told}", String::from_utf8_lossy(&output.stdout));
        return;
    };
    let disk = PathBuf::from(disk);
    let (root, journal) = (disk.join("root"), disk.join("journal"));
    fs::write(root.join("old"), "old").unwrap();
    let before = tree(&root);
    let locked = apply(&root, &journal, &[update("old", "new"), create("locked/x/y", "")], &BTreeSet::new());
    assert_eq!(locked, Err(ArtifactProblem::Failed { problem: "Read-only file system (os error 30)".to_owned() }));
    assert_eq!(tree(&root), before);
    let mut seen = (0, 0);
    for number in 0..80 {
        let before = tree(&root);
        // Writes more and larger files in each round, so that the disk runs out of space or inodes at a different step.
        let content = "x".repeat(number * 700);
        let mut artifacts = vec![update("old", &format!("{number}"))];
        artifacts.extend((0..number % 13 + 1).map(|file| create(&format!("{number}/{file}/f"), &content)));
        match apply(&root, &journal, &artifacts, &BTreeSet::new()) {
            Ok(_) => {
                seen.0 += 1;
                assert_eq!(fs::read_to_string(root.join("old")).unwrap(), number.to_string());
                fs::remove_dir_all(root.join(number.to_string())).unwrap();
            }
            Err(problem) => {
                seen.1 += 1;
                assert!(
                    matches!(&problem, ArtifactProblem::Failed { problem } if problem.contains("No space")),
                    "{problem:?}"
                );
                assert_eq!(tree(&root), before, "{number}");
            }
        }
    }
    assert!(seen.0 > 5 && seen.1 > 5, "{seen:?}");
}
