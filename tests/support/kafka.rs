//! A stock broker of its own for a test, from the jars in the folder that `UNDERCROFT_TEST_KAFKA_LIBS` names.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "test support: a failure of the set-up is a failed test"
)]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);

/// A running broker with id 1, stopped and forgotten when it is dropped.
pub struct Broker {
    folder: tempfile::TempDir,
    process: Child,
    pub servers: String,
}

impl Broker {
    /// Starts one, with further lines of `server.properties`; takes about five seconds.
    pub fn start(more: &str) -> Self {
        let libs = libs();
        let folder = tempfile::tempdir().expect("a folder");
        let (port, controller) = (free_port(), free_port());
        let (data, protocol) =
            (folder.path().join("data"), if more.contains("sasl.") { "SASL_PLAINTEXT" } else { "PLAINTEXT" });
        let properties = format!(
            "process.roles=broker,controller\nnode.id=1\n\
             listeners=CLIENT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=CLIENT://127.0.0.1:{port}\ninter.broker.listener.name=CLIENT\n\
             controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             listener.security.protocol.map=CLIENT:{protocol},CONTROLLER:PLAINTEXT\nlog.dirs={}\n\
             offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\nauto.create.topics.enable=false\n\
             log.cleaner.backoff.ms=200\nlog.initial.task.delay.ms=500\nlog.retention.check.interval.ms=1000\n{more}\n",
            data.display()
        );
        let file = folder.path().join("server.properties");
        fs::write(&file, properties).expect("written");
        let formatted =
            java(&libs, "kafka.tools.StorageTool", &["format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c"], Some(&file))
                .output()
                .expect("java starts");
        assert!(formatted.status.success(), "{formatted:?}");
        let log = folder.path().join("broker.log");
        let (out, err) =
            (File::create(&log).expect("a file"), File::options().append(true).open(&log).expect("a file"));
        let process = java(&libs, "kafka.Kafka", &[], Some(&file))
            .stdout(out)
            .stderr(err)
            .stdin(Stdio::null())
            .spawn()
            .expect("java starts");
        let mut broker = Self { folder, process, servers: format!("127.0.0.1:{port}") };
        let start = Instant::now();
        while TcpStream::connect(&broker.servers).is_err() {
            assert!(broker.process.try_wait().expect("a state").is_none(), "the broker ended:\n{}", broker.log());
            assert!(start.elapsed() < PATIENCE, "the broker does not listen:\n{}", broker.log());
            std::thread::sleep(Duration::from_millis(100));
        }
        broker
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("broker.log")).unwrap_or_default()
    }

    /// Gives `user` rights on the topic, or on the cluster without one. `admin` is the path of an administrator's settings.
    pub fn allow(&self, admin: &str, user: &str, operations: &[&str], topic: Option<&str>) {
        let source = self.file("Allow.java", ALLOW);
        let arguments = [&[self.servers.as_str(), admin, user, topic.unwrap_or("")], operations].concat();
        let output = java(&libs(), &source, &[], None).args(arguments).output().expect("java starts");
        assert!(output.status.success(), "{output:?}");
    }

    /// A file beside its own, that goes when it goes.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Kafka's own tool for this is in no jar of a broker.
const ALLOW: &str = r#"
import java.io.*; import java.util.*; import org.apache.kafka.clients.admin.*; import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.resource.*;
public class Allow {
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        try (Reader r = new FileReader(a[1])) { p.load(r); }
        p.put("bootstrap.servers", a[0]);
        ResourcePattern on = a[3].isEmpty() ? new ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)
            : new ResourcePattern(ResourceType.TOPIC, a[3], PatternType.LITERAL);
        List<AclBinding> all = new ArrayList<>();
        for (String o : Arrays.copyOfRange(a, 4, a.length))
            all.add(new AclBinding(on, new AccessControlEntry("User:" + a[2], "*", AclOperation.fromString(o), AclPermissionType.ALLOW)));
        try (Admin admin = Admin.create(p)) { admin.createAcls(all).all().get(); }
    }
}"#;

fn libs() -> String {
    std::env::var("UNDERCROFT_TEST_KAFKA_LIBS").expect(
        "UNDERCROFT_TEST_KAFKA_LIBS: folder with the jars of a release of Kafka, such as target/kafka/4.4.0/libs",
    )
}

fn java(libs: &str, class: &str, arguments: &[&str], file: Option<&Path>) -> Command {
    let mut command = Command::new("java");
    command.args(["-Xms128m", "-Xmx384m", "-cp", &format!("{libs}/*"), class]).args(arguments).args(file);
    command
}

/// Free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}
