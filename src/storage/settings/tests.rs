use super::*;

fn parse(pairs: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    let mut config = Config::new();
    for (key, value) in pairs {
        config.set(key, value);
    }
    Settings::parse(&config)
}

#[test]
fn a_file_of_aivens_plugin_is_understood() {
    let settings = parse(&[
        ("storage.backend.class", "io.aiven.kafka.tieredstorage.storage.s3.S3Storage"),
        ("storage.s3.bucket.name", "kafka"),
        ("storage.s3.region", "eu-central-1"),
        ("chunk.size", "4194304"),
        ("compression.enabled", "false"),
        ("encryption.enabled", "false"),
        ("key.prefix", "cluster-a/"),
        ("fetch.chunk.cache.size", "-1"),
    ])
    .expect("valid");
    assert_eq!(settings.key_prefix, "cluster-a/");
    let StoreKind::S3(s3) = settings.store.kind else { panic!("not s3") };
    assert!(!s3.is_path_style);
    assert_eq!(settings.warnings.len(), 1, "{:?}", settings.warnings);
    assert!(settings.warnings[0].starts_with("`chunk.size` has no effect"));
}

#[test]
fn what_would_be_silently_different_is_refused() {
    let format = ("segment.format", "iceberg");
    let error = parse(&[("storage.backend.class", "filesystem"), ("storage.root", "/x"), format]);
    assert!(matches!(&error, Err(ConfigError::Unsupported { key, .. }) if key == format.0), "{error:?}");
}

#[test]
fn chunk_sizes_are_rounded_to_what_is_written_and_said_so() {
    let memory = ("storage.backend.class", "memory");
    for (given, used, notes) in [
        ("1", 4096, 1),
        ("4095", 4096, 1),
        ("65536", 65_536, 0),
        ("131071", 65_536, 1),
        ("4194304", 4_194_304, 0),
        ("1073741823", 16_777_216, 1),
    ] {
        let settings = parse(&[memory, ("compression.enabled", "true"), ("chunk.size", given)]).expect("valid");
        assert_eq!(settings.transform.block_size.bytes(), used, "{given}");
        assert_eq!(settings.warnings.len(), notes, "{given}: {:?}", settings.warnings);
    }
    let plain = parse(&[memory, ("chunk.size", "4194304")]).expect("valid");
    assert!(plain.warnings[0].starts_with("`chunk.size` has no effect"), "{:?}", plain.warnings);
    assert_eq!(parse(&[memory]).expect("valid").transform.block_size.bytes(), 131_072);
}

#[test]
fn a_misspelt_key_is_named_with_what_was_meant() {
    let settings =
        parse(&[("storage.backend.class", "filesystem"), ("storage.root", "/x"), ("key.prefx", "y")]).expect("valid");
    assert_eq!(settings.warnings, ["`key.prefx` is unknown and has no effect; did you mean `key.prefix`?"]);
}

#[test]
fn key_pairs_are_those_of_the_list_and_a_misspelt_file_is_named() {
    let settings = parse(&[
        ("storage.backend.class", "memory"),
        ("encryption.key.pair.id", "new"),
        ("encryption.key.pairs", " new , old,"),
        ("encryption.key.pairs.new.private.key.file", "/keys/new.pem"),
        ("encryption.key.pairs.new.public.key.file", "/keys/new.pub"),
        ("encryption.key.pairs.old.private.key.file", " /keys/old.pem "),
        ("encryption.key.pairs.old.private.key.fiel", "/keys/old.pem"),
        ("encryption.key.pairs.older.private.key.file", "/keys/older.pem"),
    ])
    .expect("valid");
    let pair = |id: &str, public: Option<&str>, private: &str| KeyPairFiles {
        id: id.to_owned(),
        public: public.map(Into::into),
        private: Some(private.into()),
    };
    let expected = [pair("new", Some("/keys/new.pub"), "/keys/new.pem"), pair("old", None, "/keys/old.pem")];
    assert_eq!(settings.key_pairs, expected);
    assert_eq!(settings.warnings.len(), 2, "{:?}", settings.warnings);
    for (warning, key) in settings.warnings.iter().zip(["old.private.key.fiel", "older.private.key.file"]) {
        assert!(warning.starts_with(&format!("`encryption.key.pairs.{key}` is unknown")), "{warning}");
    }
    assert!(parse(&[("storage.backend.class", "memory")]).expect("valid").key_pairs.is_empty());
}

#[test]
fn bad_values_name_key_value_and_range() {
    let memory = ("storage.backend.class", "memory");
    let s3 = ("storage.backend.class", "s3");
    for (pairs, expected) in [
        (vec![], "storage.backend.class is not set"),
        (vec![memory, ("encryption.enabled", "true")], "encryption.key.pair.id is not set"),
        (
            vec![memory, ("encryption.enabled", "true"), ("encryption.key.pair.id", "a")],
            "`a`: it is not listed in `encryption.key.pairs`",
        ),
        (vec![memory, ("compression.level", "23")], "`23`: out of range; expected: 1 to 22"),
        (vec![("storage.backend.class", "tape")], "`tape`: no such store; expected: filesystem, s3, gcs, azure"),
        (vec![("storage.backend.class", "oss")], "build with `--features services-oss`"),
        (vec![("storage.backend.class", "filesystem")], "storage.root is not set"),
        (vec![s3], "storage.s3.bucket.name is not set"),
        (vec![s3, ("storage.s3.bucket.name", "my bucket")], "`my bucket`: no bucket can be called so"),
        (vec![s3, ("storage.s3.bucket.name", "a/b")], "`a/b`: no bucket can be called so"),
        (vec![("storage.backend.class", "memory"), ("key.prefix", "../up/")], "it leads out of the store"),
        (vec![("storage.backend.class", "memory"), ("key.prefix", "a/./")], "it leads out of the store"),
        (vec![s3, ("storage.s3.bucket.name", "bkt")], "storage.s3.region is not set"),
        (vec![s3, ("storage.s3.bucket.name", "bkt"), ("storage.s3.endpoint.url", "localhost:1")], "not a URL"),
        (
            vec![s3, ("storage.s3.bucket.name", "bkt"), ("storage.s3.region", "r"), ("storage.aws.access.key.id", "k")],
            "storage.aws.secret.access.key is not set",
        ),
        (
            vec![s3, ("storage.s3.multipart.upload.part.size", "17")],
            "`17`: out of range; expected: 5242880 to 2147483639",
        ),
    ] {
        let error = parse(&pairs).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn no_cache_is_too_small_for_what_a_slow_store_brings() {
    let own = [("storage.backend.class", "filesystem"), ("storage.root", "/x")];
    let none = [("fetch.chunk.cache.size", "0"), ("fetch.indexes.cache.size", "0")];
    let fetch = parse(&[&own[..], &none].concat()).expect("valid").fetch;
    assert_eq!((fetch.chunk_cache, fetch.index_cache), (16 * 1_114_112, 1 << 20));
}

#[test]
fn secrets_are_never_printed() {
    let settings = parse(&[
        ("storage.backend.class", "s3"),
        ("storage.s3.bucket.name", "bkt"),
        ("storage.s3.region", "r"),
        ("storage.aws.access.key.id", "AKIA-visible"),
        ("storage.aws.secret.access.key", "very-secret"),
    ])
    .expect("valid");
    let StoreKind::S3(s3) = &settings.store.kind else { panic!("not s3") };
    assert!(!format!("{s3:?}").contains("secret") && !format!("{s3:?}").contains("AKIA"));
}

fn s3(more: &[(&str, &str)]) -> Result<Box<S3Settings>, ConfigError> {
    let own = [("storage.backend.class", "s3"), ("storage.s3.bucket.name", "bkt"), ("storage.s3.region", "eu-west-1")];
    match parse(&[&own[..], more].concat())?.store.kind {
        StoreKind::S3(s3) => Ok(s3),
        other => panic!("{other:?}"),
    }
}

const KEYS: [(&str, &str); 2] = [("storage.aws.access.key.id", "AK"), ("storage.aws.secret.access.key", "SK")];
const PROVIDER: &str = "storage.aws.credentials.provider.class";

#[test]
fn logins_to_s3_are_what_the_keys_say_and_nothing_else() {
    let java = "software.amazon.awssdk.auth.credentials.";
    let keys = |token: Option<&str>| AwsLogin::Keys {
        access_key: "AK".into(),
        secret_key: "SK".into(),
        session_token: token.map(Into::into),
    };
    for (more, expected) in [
        (vec![], AwsLogin::Default { profile: None }),
        (vec![("storage.aws.profile", "p")], AwsLogin::Default { profile: Some("p".into()) }),
        (KEYS.to_vec(), keys(None)),
        ([&KEYS[..], &[("storage.aws.session.token", "T")]].concat(), keys(Some("T"))),
        ([&KEYS[..], &[(PROVIDER, "static")]].concat(), keys(None)),
        (vec![("storage.aws.credentials.file", "/etc/x")], AwsLogin::File("/etc/x".into())),
        (vec![(PROVIDER, "EnvironmentVariableCredentialsProvider")], AwsLogin::Environment),
        (vec![(PROVIDER, &*format!("{java}EnvironmentVariableCredentialsProvider"))], AwsLogin::Environment),
        (vec![(PROVIDER, &*format!("{java}ProfileCredentialsProvider"))], AwsLogin::Profile(None)),
        (vec![(PROVIDER, &*format!("{java}InstanceProfileCredentialsProvider"))], AwsLogin::Instance),
        (vec![(PROVIDER, &*format!("{java}ContainerCredentialsProvider"))], AwsLogin::Container),
        (vec![(PROVIDER, &*format!("{java}WebIdentityTokenFileCredentialsProvider"))], AwsLogin::WebIdentity),
        (vec![(PROVIDER, &*format!("{java}DefaultCredentialsProvider"))], AwsLogin::Default { profile: None }),
        (vec![(PROVIDER, "anonymous")], AwsLogin::Anonymous),
    ] {
        assert!(s3(&more).expect("valid").login == expected, "{more:?}");
    }
    for (more, expected) in [
        (vec![(PROVIDER, "com.example.MyProvider")], "a Java class can't be loaded; what is known by name: `default`"),
        (vec![(PROVIDER, "static")], "storage.aws.access.key.id is not set"),
        ([&KEYS[..], &[("storage.aws.credentials.file", "/x")]].concat(), "only one of them can hold"),
        ([&KEYS[..], &[(PROVIDER, "instance")]].concat(), "only one of them can hold"),
        (vec![("storage.aws.session.token", "T")], "storage.aws.access.key.id is not set"),
        (vec![("storage.aws.role.external.id", "x")], "storage.aws.role.arn is not set"),
        (vec![("storage.aws.role.arn", "admin")], "not an ARN"),
        (vec![("storage.s3.server.side.encryption", "aes")], "no such encryption"),
        (vec![("storage.s3.server.side.encryption", "customer")], "SSE-C needs it"),
        (vec![("storage.s3.server.side.encryption.kms.key.id", "k")], "it takes `aws:kms`"),
        (vec![("storage.proxy.host", "p")], "storage.proxy.port is not set"),
        (vec![("storage.proxy.port", "1")], "storage.proxy.host is not set"),
        (vec![("storage.proxy.host", "a/b"), ("storage.proxy.port", "1")], "not a host's name"),
        (vec![("storage.tls.client.key.file", "k")], "storage.tls.client.certificate.file is not set"),
        (vec![("storage.user.agent", "a\u{e9}")], "not in plain ASCII"),
    ] {
        let error = s3(&more).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_proxy_is_one_of_socks_unless_said_otherwise_as_in_aivens_plugin() {
    let own = [("storage.backend.class", "memory"), ("storage.proxy.host", "proxy"), ("storage.proxy.port", "1080")];
    let url = |more: &[(&str, &str)]| {
        let http = parse(&[&own[..], more].concat()).expect("valid").store.http;
        http.proxy.map(|proxy| (proxy.url, proxy.login)).expect("one")
    };
    assert_eq!(url(&[]), ("socks5h://proxy:1080".to_owned(), None));
    let login = [("storage.proxy.scheme", "http"), ("storage.proxy.username", "u"), ("storage.proxy.password", "p")];
    assert_eq!(url(&login), ("http://proxy:1080".to_owned(), Some(("u".to_owned(), "p".to_owned()))));
}

#[test]
fn gcs_of_aivens_plugin_is_understood() {
    let own = [
        ("storage.backend.class", "io.aiven.kafka.tieredstorage.storage.gcs.GcsStorage"),
        ("storage.gcs.bucket.name", "bkt"),
        ("storage.gcs.resumable.upload.chunk.size", "262144"),
    ];
    let gcs = |more: &[(&str, &str)]| parse(&[&own[..], more].concat());
    let file = gcs(&[("storage.gcs.credentials.path", "/x.json")]).expect("valid");
    assert_eq!(file.upload.part_size, 5 << 20, "no part can be smaller");
    assert!(matches!(&file.store.kind, StoreKind::Gcs(gcs) if gcs.login == GoogleLogin::File("/x.json".into())));
    assert!(file.warnings.is_empty(), "{:?}", file.warnings);
    for (more, expected) in [
        (vec![], "storage.gcs.credentials.json is not set"),
        (vec![("storage.gcs.credentials.json", "nothing")], "not a JSON object"),
        (
            vec![("storage.gcs.credentials.json", "{}"), ("storage.gcs.credentials.default", "true")],
            "only one of them can hold",
        ),
    ] {
        let error = gcs(&more).expect_err(expected).to_string();
        assert!(error.contains(expected) && !error.contains("nothing"), "{error}");
    }
}

#[test]
fn azure_of_aivens_plugin_is_understood() {
    let own = [
        ("storage.backend.class", "io.aiven.kafka.tieredstorage.storage.azure.AzureBlobStorage"),
        ("storage.azure.container.name", "cont"),
    ];
    let azure = |more: &[(&str, &str)]| -> Result<Box<AzureSettings>, ConfigError> {
        match parse(&[&own[..], more].concat())?.store.kind {
            StoreKind::Azure(azure) => Ok(azure),
            other => panic!("{other:?}"),
        }
    };
    let connection = |text| azure(&[("storage.azure.connection.string", text)]);
    let of_suffix = connection(
        "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn",
    );
    let of_suffix = of_suffix.expect("valid");
    assert_eq!(of_suffix.endpoint, "https://acc.blob.core.chinacloudapi.cn");
    assert!(of_suffix.login == AzureLogin::Key("a2V5".into()));
    let signed = connection("BlobEndpoint=http://127.0.0.1:1/acc/;SharedAccessSignature=sv=1&sig=a=").expect("valid");
    assert!(signed.endpoint == "http://127.0.0.1:1/acc" && signed.login == AzureLogin::Signature("sv=1&sig=a=".into()));
    let identity = azure(&[("storage.azure.account.name", "acc")]).expect("valid");
    assert!(identity.endpoint == "https://acc.blob.core.windows.net" && identity.login == AzureLogin::Identity);
    let token = azure(&[("storage.azure.account.name", "acc"), ("storage.azure.sas.token", "?sv=1")]).expect("valid");
    assert!(token.login == AzureLogin::Signature("sv=1".into()));
    for (more, expected) in [
        (vec![], "storage.azure.account.name is not set"),
        (vec![("storage.azure.connection.string", "secret-nonsense")], "not a connection string"),
        (vec![("storage.azure.account.name", "acc"), ("storage.azure.account.key", "!secret!")], "not base64"),
        (
            vec![("storage.azure.connection.string", "AccountName=a"), ("storage.azure.account.name", "acc")],
            "only one of them can hold",
        ),
    ] {
        let error = azure(&more).expect_err(expected).to_string();
        assert!(error.contains(expected) && !error.contains("secret"), "{error}");
    }
}

#[test]
fn what_settings_say_of_themselves_has_no_secret_of_theirs() {
    let s3 = [("storage.backend.class", "s3"), ("storage.s3.bucket.name", "bkt"), ("storage.s3.region", "r")];
    let secrets = [
        ("storage.aws.access.key.id", "AKID"),
        ("storage.aws.secret.access.key", "of-the-login"),
        ("storage.aws.session.token", "of-the-session"),
        ("storage.opendal.server_side_encryption_customer_key", "of-the-driver"),
        ("storage.proxy.host", "proxy"),
        ("storage.proxy.port", "1"),
        ("storage.proxy.username", "somebody"),
        ("storage.proxy.password", "of-the-proxy"),
    ];
    let settings = parse(&[&s3[..], &secrets].concat()).expect("valid");
    let shown = format!("{settings:?}");
    assert!(!shown.contains("of-the-") && shown.contains("server_side_encryption_customer_key"), "{shown}");
    let known = settings.store.secrets();
    assert_eq!(known, ["of-the-login", "of-the-session", "of-the-proxy", "of-the-driver"]);
}

#[test]
fn an_endpoint_says_where_and_never_who() {
    let s3 = [("storage.backend.class", "s3"), ("storage.s3.bucket.name", "bkt"), ("storage.s3.region", "r")];
    let connection = "AccountName=a;AccountKey=aaaa;BlobEndpoint=https://us3r:p4ss@host";
    let azure = [("storage.backend.class", "azure"), ("storage.azure.container.name", "c")];
    for pairs in [
        [&s3[..], &[("storage.s3.endpoint.url", "https://us3r:p4ss@host")]].concat(),
        [&s3[..], &[("storage.s3.endpoint.url", "https://host?X-Amz-Signature=p4ss")]].concat(),
        [&s3[..], &[("storage.s3.endpoint.url", "us3r:p4ss@host")]].concat(),
        [&s3[..], &[("storage.proxy.host", "us3r:p4ss@host"), ("storage.proxy.port", "1")]].concat(),
        [&azure[..], &[("storage.azure.connection.string", connection)]].concat(),
    ] {
        let error = parse(&pairs).expect_err("refused").to_string();
        assert!(!error.contains("p4ss") && !error.contains("us3r"), "{error}");
    }
}

#[test]
fn a_port_that_no_host_has_is_refused_in_every_url() {
    let s3 = [("storage.backend.class", "s3"), ("storage.s3.bucket.name", "bkt"), ("storage.aws.access.key.id", "k")];
    let s3 = [&s3[..], &[("storage.aws.secret.access.key", "s")]].concat();
    let gcs = [("storage.backend.class", "gcs"), ("storage.gcs.bucket.name", "bkt")];
    let gcs = [&gcs[..], &[("storage.gcs.credentials.default", "false")]].concat();
    let azure = [("storage.backend.class", "azure"), ("storage.azure.container.name", "abc")];
    let azure =
        [&azure[..], &[("storage.azure.account.name", "a"), ("storage.azure.account.key", "d3Jvbmc=")]].concat();
    for (own, key) in
        [(s3, "storage.s3.endpoint.url"), (gcs, "storage.gcs.endpoint.url"), (azure, "storage.azure.endpoint.url")]
    {
        for host in ["127.0.0.1", "store.example.org", "[fd00::1]"] {
            for (port, is_taken) in [
                ("", true),
                (":1", true),
                (":65535", true),
                (":0", false),
                (":65536", false),
                (":99999", false),
                (":4294967377", false),
                (":", false),
                (":80a", false),
                (":-1", false),
            ] {
                let url = format!("http://{host}{port}/a");
                let parsed = parse(&[&own[..], &[(key, url.as_str())]].concat()).map(|_| ());
                assert_eq!(parsed.is_ok(), is_taken, "{url}: {parsed:?}");
                if let Err(error) = parsed {
                    assert!(error.to_string().contains(key) && error.to_string().contains("not a URL"), "{error}");
                }
            }
        }
    }
    for (host, port, is_taken) in [
        ("proxy", "65535", true),
        ("proxy", "65536", false),
        ("proxy", "99999", false),
        ("proxy", "0", false),
        ("proxy:99999", "1", false),
        ("[fd00::1]", "1", true),
        ("[fd00::1]:99999", "1", false),
    ] {
        let own = [("storage.backend.class", "memory"), ("storage.proxy.host", host), ("storage.proxy.port", port)];
        let parsed = parse(&own).map(|_| ());
        assert_eq!(parsed.is_ok(), is_taken, "{host} {port}: {parsed:?}");
    }
}

#[test]
fn a_prefix_is_what_every_store_makes_of_it_and_a_slash_that_is_left_out_is_told() {
    let prefix = |text: &str| {
        let parsed = parse(&[("storage.backend.class", "memory"), ("key.prefix", text)]).expect("valid");
        (parsed.key_prefix, parsed.warnings.len())
    };
    for (text, expected, warnings) in [
        ("", "", 0),
        ("x", "x", 0),
        ("x/", "x/", 0),
        ("x/y-", "x/y-", 0),
        (".x/..y/...", ".x/..y/...", 0),
        ("/x/", "x/", 1),
        ("//x", "x", 1),
        ("/", "", 1),
        ("a//b/", "a/b/", 1),
        ("a/b//", "a/b/", 1),
        ("a///b//c", "a/b/c", 1),
    ] {
        assert_eq!(prefix(text), (expected.to_owned(), warnings), "{text}");
    }
    for text in ["../up/", "/../up/", "a/./", "a//..//b", "/./"] {
        let refused = parse(&[("storage.backend.class", "memory"), ("key.prefix", text)]);
        assert!(
            matches!(&refused, Err(ConfigError::BadValue { key, .. }) if key == "key.prefix"),
            "{text}: {refused:?}"
        );
    }
}
