//! A separate PostgreSQL server for one test, which the test kills and starts again.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The way in which a PostgreSQL server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Stop with `pg_ctl stop -m immediate`: the server aborts all connections.
    Immediate,
    /// Send `SIGKILL` to the postmaster; its children notice this and end.
    KillPostmaster,
    /// Send `SIGKILL` to a process that serves a connection: the postmaster ends all other connections and recovers.
    KillBackend,
}

#[derive(Debug)]
pub(crate) struct Server {
    bin: PathBuf,
    data: PathBuf,
    /// The folder in which the server's socket is.
    home: PathBuf,
    port: u16,
}

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: this test needs PostgreSQL; run it with scripts/test or scripts/postgres run")
    })
}

impl Server {
    /// Makes a data folder and starts a server on it. If the test does not stop the server, `scripts/postgres` does.
    pub(crate) fn start(name: &str, port: u16) -> Self {
        let home = PathBuf::from(setting("HANDOVER_TEST_PGHOME"));
        let server = Self { bin: setting("HANDOVER_TEST_PGBIN").into(), data: home.join(name), home, port };
        let data = server.data.display().to_string();
        server.must("initdb", &["-D", &data, "-U", "handover", "--auth=trust", "--encoding=UTF8", "--locale=C", "-N"]);
        server.start_again();
        server
    }

    /// Returns the URL of the default database, which only this test uses.
    pub(crate) fn url(&self) -> String {
        let socket = self.home.display().to_string().replace('/', "%2F");
        format!("postgresql://handover@{socket}:{}/postgres", self.port)
    }

    /// Starts the server and waits until it has recovered and answers. Retries while children of a killed server are
    /// still ending, because their shared memory keeps a new server from starting.
    pub(crate) fn start_again(&self) {
        let options = format!(
            "-p {} -c listen_addresses='' -c unix_socket_directories='{}' -c max_connections=60 -c fsync=on \
             -c synchronous_commit=on -c restart_after_crash=on",
            self.port,
            self.home.display()
        );
        let data = self.data.display().to_string();
        let log = self.data.with_extension("log").display().to_string();
        let started =
            (0..100).any(|_| self.run("pg_ctl", &["-D", &data, "-l", &log, "-o", &options, "-w", "-t", "60", "start"]));
        assert!(started, "PostgreSQL did not start again; its log is {log}");
    }

    pub(crate) fn end(&self, how: End) {
        let data = self.data.display().to_string();
        match how {
            End::Immediate => self.must("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]),
            End::KillPostmaster => self.must("kill", &["-9", &self.postmaster()]),
            End::KillBackend => {
                let found = self.output("pgrep", &["-P", &self.postmaster(), "-f", "handover postgres"]);
                let pid = found.split_whitespace().last().unwrap();
                // Ignore a failure to kill: the process may have ended already.
                self.run("kill", &["-9", pid]);
            }
        }
    }

    fn postmaster(&self) -> String {
        let file = std::fs::read_to_string(self.data.join("postmaster.pid")).unwrap();
        file.lines().next().unwrap().to_owned()
    }

    /// Returns the command that runs a program as the account that owns the server's folder, because PostgreSQL refuses
    /// to run as root.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let (own, folder) = (std::fs::metadata("/proc/self").unwrap(), std::fs::metadata(&self.home).unwrap());
        let mut line: Vec<OsString> = Vec::new();
        if own.uid() != folder.uid() {
            let [user, group] = [format!("--reuid={}", folder.uid()), format!("--regid={}", folder.gid())];
            line.extend(["setpriv".into(), user.into(), group.into(), "--clear-groups".into()]);
        }
        let server = self.bin.join(program);
        line.push(if server.exists() { server.into() } else { program.into() });
        #[expect(clippy::disallowed_methods, reason = "a test starts and kills its own server")]
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).args(arguments).current_dir(&self.home);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        self.command(program, arguments).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn must(&self, program: &str, arguments: &[&str]) {
        assert!(self.run(program, arguments), "{program} {arguments:?} failed");
    }

    fn output(&self, program: &str, arguments: &[&str]) -> String {
        let out = self.command(program, arguments).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data.display().to_string();
        self.run("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
    }
}
