//! A headless browser that replays traces: it asks a small server on this machine for them and sends back what it saw.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The page. It replays one trace after another until the browser ends.
const PAGE: &str = r#"<!doctype html><title>replay</title><script type="module">
import { replay } from "/replay.mjs";
const get = async (path) => new Uint8Array(await (await fetch(path, { cache: "no-store" })).arrayBuffer());
const post = (path, body) => fetch(path, { method: "POST", body });
const module = await WebAssembly.compile(await get("/module"));
for (;;) {
    const job = JSON.parse(new TextDecoder().decode(await get("/job")));
    try {
        await post("/out", await replay(module, await get("/trace"), job));
    } catch (error) {
        await post("/failed", String(error));
    }
}
</script>"#;

/// Longest time that a replay may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// A browser with the page open.
#[derive(Debug)]
pub(crate) struct Browser {
    listener: TcpListener,
    process: Child,
    profile: PathBuf,
    module: PathBuf,
    script: PathBuf,
}

impl Browser {
    /// Starts the browser `program`, for a compiled module and the script that replays.
    pub(crate) fn start(program: &str, folder: &Path, module: &Path, script: &Path) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("{program}: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(wrong)?;
        listener.set_nonblocking(true).map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        let profile = folder.join(format!("profile-{}", std::process::id()));
        let process = Command::new(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-dev-shm-usage",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("http://{address}/"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(wrong)?;
        Ok(Self { listener, process, profile, module: module.to_owned(), script: script.to_owned() })
    }

    /// Replays a trace with these numbers and returns the result.
    pub(crate) fn replay(&mut self, trace: &Path, numbers: [u64; 5]) -> Result<Vec<u8>, String> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let Ok((stream, _)) = self.listener.accept() else {
                if let Ok(Some(status)) = self.process.try_wait() {
                    return Err(format!("the browser has ended: {status}"));
                }
                thread::sleep(Duration::from_millis(1));
                continue;
            };
            // A connection that the browser gives up is none.
            let Ok((path, body)) = stream.set_nonblocking(false).and_then(|()| request(&stream)) else {
                continue;
            };
            let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
            let (kind, answer) = match path.as_str() {
                "/" => ("text/html", PAGE.into()),
                "/replay.mjs" => ("text/javascript", read(&self.script)?),
                "/module" => ("application/wasm", read(&self.module)?),
                "/job" => ("application/json", format!("{numbers:?}").into_bytes()),
                "/trace" => ("application/octet-stream", read(trace)?),
                _ => ("text/plain", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                answer.len()
            );
            let mut stream = stream;
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&answer));
            match path.as_str() {
                "/out" => return Ok(body),
                "/failed" => return Err(String::from_utf8_lossy(&body).into_owned()),
                _ => {}
            }
        }
        Err("the browser does not answer".to_owned())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}

/// Path and body of a request.
fn request(stream: &TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let (mut reader, mut line, mut length) = (BufReader::new(stream), String::new(), 0);
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((path, body))
}
