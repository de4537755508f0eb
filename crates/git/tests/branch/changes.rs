//! Tests how the changes between two commits are read: files, lines and the diff. Git must run no program that a
//! configuration names.

use std::fs;

use git::changes::{ChangedFile, base_name, changes, diff};

use crate::scene::{alone, save, script};

fn file(path: &str, added: u64, removed: u64) -> ChangedFile {
    ChangedFile { path: path.to_owned(), old_path: None, added, removed, is_binary: false }
}

alone! {
    fn files_and_lines_are_counted(scene) {
        save(&scene.home, "moved.txt", "one\ntwo\nthree\nfour\n");
        let from = save(&scene.home, "gone.txt", "1\n2\n");
        fs::rename(scene.home.join("moved.txt"), scene.home.join("new name \"ü\".txt")).unwrap();
        fs::remove_file(scene.home.join("gone.txt")).unwrap();
        fs::write(scene.home.join("image"), b"\0\x01\x02").unwrap();
        let to = save(&scene.home, "a.txt", "one\nTWO\nthree\nfour\n");
        let found = changes(&scene.git, &scene.home, &from, &to).await.unwrap();
        let image = ChangedFile { is_binary: true, ..file("image", 0, 0) };
        let moved = ChangedFile { old_path: Some("moved.txt".to_owned()), ..file("new name \"ü\".txt", 0, 0) };
        assert_eq!(found.list, [file("a.txt", 2, 1), file("gone.txt", 0, 2), image, moved]);
        assert_eq!((found.files, found.added, found.removed), (4, 2, 3));
        // The function `changes` also compares two trees when it gets their ids.
        let tree = |commit: &str| scene.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
        assert_eq!(changes(&scene.git, &scene.home, &tree(&from), &tree(&to)).await.unwrap(), found);
        assert_eq!(changes(&scene.git, &scene.home, &to, &to).await.unwrap().files, 0);
        for name in ["main", "HEAD", "--output=x", ""] {
            assert_eq!(changes(&scene.git, &scene.home, name, &to).await.unwrap_err().code(), "INVALID_INPUT", "{name}");
        }
    }

    fn a_long_diff_is_cut_after_a_line(scene) {
        let from = scene.git(&["rev-parse", "HEAD"]);
        let to = save(&scene.home, "long.txt", &"a line of text\n".repeat(100));
        let whole = diff(&scene.git, &scene.home, (&from, &to), 1 << 20).await.unwrap();
        assert!(!whole.is_cut && whole.bytes.starts_with(b"diff --git a/long.txt b/long.txt\n"));
        let cut = diff(&scene.git, &scene.home, (&from, &to), 300).await.unwrap();
        assert!(cut.is_cut && cut.bytes.len() <= 300 && cut.bytes.ends_with(b"+a line of text\n"));
        assert!(whole.bytes.starts_with(&cut.bytes));
    }

    fn no_program_of_the_configuration_runs(scene) {
        let mark = scene.beside("mark");
        let evil = scene.beside("evil");
        script(&evil, &format!("echo ran >> '{}'; cat", mark.display()));
        let from = save(&scene.home, ".gitattributes", "* diff=d filter=f\n");
        let to = save(&scene.home, "a.txt", "changed\n");
        let program = evil.to_str().unwrap();
        let keys = ["diff.external", "diff.d.command", "diff.d.textconv", "filter.f.clean", "filter.f.smudge", "core.pager"];
        for key in keys {
            scene.git(&["config", key, program]);
        }
        assert_eq!(changes(&scene.git, &scene.home, &from, &to).await.unwrap().files, 1);
        let text = String::from_utf8(diff(&scene.git, &scene.home, (&from, &to), 1 << 20).await.unwrap().bytes).unwrap();
        assert!(text.contains("+changed"), "{text}");
        assert!(!mark.exists(), "a program of the configuration ran");
        // Without Handover's options, git runs the external diff program that the configuration names.
        scene.git(&["diff", &from, &to]);
        assert!(mark.exists());
    }

    fn a_base_has_the_name_of_its_branch(scene) {
        let first = scene.git(&["rev-parse", "HEAD"]);
        scene.git(&["branch", "handover/other"]);
        scene.git(&["branch", "develop"]);
        assert_eq!(base_name(&scene.git, &scene.home, &first).await.unwrap(), format!("main at {}", &first[..7]));
        scene.git(&["checkout", "--quiet", "--orphan", "empty"]);
        assert_eq!(base_name(&scene.git, &scene.home, &first).await.unwrap(), format!("develop at {}", &first[..7]));
    }
}
