//! What is no store says "done" to everything; what lies on the way changes answers of one that is.

use bytes::Bytes;

use super::super::super::StorageError;
use super::super::super::layout::ObjectKey;
use super::super::canned::{Answer, serve, stores};
use super::super::{DriverStore, ObjectStore as _};

const PAGE: &str = "<html><body>We are back in a moment.</body></html>";
const HTML: &[(&str, &str)] = &[("Content-Type", "text/html; charset=utf-8")];

fn misconfigured(result: &Result<(), StorageError>, words: &str) -> bool {
    matches!(result, Err(error @ StorageError::Misconfigured { .. }) if error.to_string().contains(words))
}

/// Each call, and what came of it.
async fn all(store: &DriverStore) -> Vec<(&'static str, Result<(), StorageError>)> {
    let (one, two) = (ObjectKey::new("a/1"), ObjectKey::new("a/2"));
    let body = || vec![Bytes::from_static(b"segment")];
    let mut upload = store.upload(&one, 2).await.expect("asks nothing yet");
    let mut sent = Ok(());
    for _ in 0..3 {
        sent = sent.and(upload.part(vec![Bytes::from(vec![1; 5 << 20])]).await);
    }
    let sent = if sent.is_ok() { upload.complete().await } else { sent };
    vec![
        ("put", store.put(&one, body()).await),
        ("put of nothing", store.put(&one, Vec::new()).await),
        ("upload", sent),
        ("delete", store.delete(std::slice::from_ref(&one)).await),
        ("delete two", store.delete(&[one.clone(), two]).await),
        ("get", store.get(&one, 0..50).await.map(|_| ())),
        ("get whole", store.get_whole(&one, 1000).await.map(|_| ())),
        ("size", store.size(&one).await.map(|_| ())),
        ("list", async { store.list("a/").await?.next().await.map(|_| ()) }.await),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_is_never_taken_for_the_success_of_anything() {
    for (status, headers) in [
        (200, HTML),
        (201, HTML),
        (202, HTML),
        (204, HTML),
        (206, HTML),
        (200, &[("Content-Type", "TEXT/HTML"), ("ETag", "\"of-the-page\"")]),
        (200, &[("Content-Type", "application/xhtml+xml"), ("ETag", "\"of-the-page\"")]),
    ] {
        let body = if status == 204 { "" } else { PAGE };
        let port = serve(move |_| Answer::new(status, headers, body));
        for (kind, store) in stores(port) {
            for (what, result) in all(&store).await {
                assert!(misconfigured(&result, "a web page and not a store"), "{kind}, {status}, {what}: {result:?}");
            }
        }
    }
}

/// A page that isn't called one, an answer of nothing, an answer in another language.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_stores_never_says_that_an_object_is_stored_or_that_objects_are_deleted() {
    for (status, headers, body) in [
        (200, &[][..], ""),
        (201, &[], ""),
        (200, &[], PAGE),
        (200, &[("Content-Type", "text/plain")], "OK"),
        (200, &[("Content-Type", "application/xml")], "<ok/>"),
        (204, &[], ""),
    ] {
        let port = serve(move |_| Answer::new(status, headers, body));
        for (kind, store) in stores(port) {
            let key = ObjectKey::new("a/1");
            for bytes in [&b"segment"[..], b""] {
                let put = store.put(&key, vec![Bytes::from_static(bytes)]).await;
                // Where the driver knows another status, that is what it says.
                let is_told = misconfigured(&put, "is no store") || (status == 204 && put.is_err());
                assert!(is_told, "{kind}, {status}, {body}: {put:?}");
            }
            if kind == "s3" && status != 204 {
                let deleted = store.delete(&[key.clone(), ObjectKey::new("a/2")]).await;
                assert!(
                    matches!(deleted, Err(StorageError::Misconfigured { .. })),
                    "{kind}, {status}, {body}: {deleted:?}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_batch_answers_wrongly_is_deleted_one_by_one() {
    for (status, body) in [(200, ""), (200, "<ok/>"), (200, "OK"), (200, "{}")] {
        let port = serve(move |head| match head {
            _ if head.starts_with("POST ") => Answer::new(status, &[], body),
            _ if head.starts_with("DELETE ") => Answer::new(204, &[], ""),
            _ => Answer::new(200, &[], "<ListMultipartUploadsResult></ListMultipartUploadsResult>"),
        });
        let [(_, s3), ..] = stores(port);
        let deleted = s3.delete(&[ObjectKey::new("a/1"), ObjectKey::new("a/2")]).await;
        assert!(deleted.is_ok(), "{status} {body}: {deleted:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stores_really_answer_is_believed() {
    let xml = "<?xml version=\"1.0\"?><DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>";
    let port = serve(move |head| match head {
        _ if head.starts_with("PUT /bucket") => Answer::new(200, &[("ETag", "\"x\"")], ""),
        _ if head.starts_with("PUT /account") => Answer::new(201, &[("etag", "\"0x8\"")], ""),
        _ if head.starts_with("POST /upload") => {
            Answer::new(200, &[("Content-Type", "application/json; charset=UTF-8")], "{\"size\":\"7\",\"etag\":\"C\"}")
        }
        _ if head.starts_with("POST /bucket") => Answer::new(200, &[("Content-Type", "application/xml")], xml),
        _ => Answer::new(200, &[], "<ListMultipartUploadsResult></ListMultipartUploadsResult>"),
    });
    for (kind, store) in stores(port) {
        let (one, two) = (ObjectKey::new("a/1"), ObjectKey::new("a/2"));
        let put = store.put(&one, vec![Bytes::from_static(b"segment")]).await;
        assert!(put.is_ok(), "{kind}: {put:?}");
        if kind == "s3" {
            store.delete(&[one, two]).await.expect("deletes");
        }
    }
}

const WHOLE: &str = "0123456789abcdefghijklmnopqrstuvwxyz";

/// What stands between us and a store may answer with other bytes than those that were asked for: 10 to 19, here.
#[tokio::test(flavor = "multi_thread")]
async fn other_bytes_than_those_of_the_range_are_never_handed_out_for_these() {
    type Headers = &'static [(&'static str, &'static str)];
    let (asked, rest): (Headers, Headers) =
        (&[("Content-Range", "bytes 10-19/36")], &[("Content-Range", "bytes 10-35/36")]);
    for (status, headers, body, is_right) in [
        (206, asked, &WHOLE[10..20], true),
        (200, &[], WHOLE, false),
        (200, &[], &WHOLE[..10], false),
        (206, &[("Content-Range", "bytes 0-9/36")], &WHOLE[..10], false),
        (206, &[("Content-Range", "bytes 11-20/36")], &WHOLE[11..21], false),
        (206, &[("Content-Range", "bytes 0-35/36")], WHOLE, false),
        (206, rest, &WHOLE[10..], false),
        // Who says the right thing and sends more.
        (206, asked, &WHOLE[10..], false),
        (206, &[], &WHOLE[10..], false),
    ] {
        let port = serve(move |_| Answer::new(status, headers, body));
        for (kind, store) in stores(port) {
            let mut taken = Vec::new();
            let read = store.read(&ObjectKey::new("a/1"), 10..20, &mut |piece| taken.extend(piece)).await;
            assert!(WHOLE.as_bytes()[10..20].starts_with(&taken), "{kind}, {status} {headers:?}: {taken:?} was taken");
            let is_told = if is_right { read.is_ok() } else { misconfigured(&read, "ignores ranges") };
            assert!(is_told, "{kind}, {status} {headers:?} {}: {read:?}", body.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_object_that_is_no_longer_than_what_was_asked_for_is_taken_for_it() {
    let port = serve(|head| {
        let body =
            if head.starts_with("HEAD ") || head.contains("alt=media") || head.contains("/a/1") { WHOLE } else { "" };
        Answer::new(200, &[("ETag", "\"x\"")], body)
    });
    for (kind, store) in stores(port) {
        let key = ObjectKey::new("a/1");
        let got = store.get(&key, 0..36).await.map(|pieces| pieces.concat());
        assert!(matches!(&got, Ok(bytes) if bytes == WHOLE.as_bytes()), "{kind}: {got:?}");
        let short = store.get(&key, 0..37).await;
        assert!(matches!(short, Err(StorageError::Corrupt { .. })), "{kind}: {short:?}");
        let longer = store.get(&key, 0..35).await.map(|_| ());
        assert!(misconfigured(&longer, "ignores ranges"), "{kind}: {longer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_never_got_an_id_has_nothing_to_abort_however_often_that_is_asked_for() {
    for body in ["", "OK", "<ok/>", "<html></html>", "<x><UploadId></UploadId></x>", "<x><UploadId/></x>"] {
        let port = serve(move |head| match head {
            _ if head.starts_with("POST ") => Answer::new(200, &[], body),
            // What has no name can't be aborted, and a store that is asked to may say anything.
            _ => Answer::new(500, &[], "no such upload"),
        });
        for (kind, store) in stores(port).into_iter().filter(|(kind, _)| *kind != "azure") {
            let mut upload = store.upload(&ObjectKey::new("a/1"), 2).await.expect("asks nothing yet");
            let mut sent = Ok(());
            for _ in 0..2 {
                sent = sent.and(upload.part(vec![Bytes::from(vec![1; 5 << 20])]).await);
            }
            assert!(misconfigured(&sent, "is no store"), "{kind}, {body:?}: {sent:?}");
            for _ in 0..3 {
                let aborted = upload.abort().await;
                assert!(aborted.is_ok(), "{kind}, {body:?}: {aborted:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_nobody_names_are_not_stored() {
    let begun = "<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>";
    let port = serve(move |head| match head {
        _ if head.starts_with("POST ") => Answer::new(200, &[("Content-Type", "application/xml")], begun),
        // Azure names no blocks, but what is made of them.
        _ if head.starts_with("PUT ") => Answer::new(201, &[], ""),
        _ => Answer::new(204, &[], ""),
    });
    for (kind, store) in stores(port) {
        let mut upload = store.upload(&ObjectKey::new("a/1"), 2).await.expect("asks nothing yet");
        let mut sent = Ok(());
        for _ in 0..3 {
            sent = sent.and(upload.part(vec![Bytes::from(vec![1; 5 << 20])]).await);
        }
        let sent = if sent.is_ok() { upload.complete().await } else { sent };
        assert!(misconfigured(&sent, "without the ETag"), "{kind}: {sent:?}");
        assert!(upload.abort().await.is_ok(), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_region_and_the_endpoint_that_a_store_names_are_shown() {
    const XML: &[(&str, &str)] = &[("Content-Type", "application/xml")];
    for (status, headers, body, words) in [
        (
            301,
            &[("x-amz-bucket-region", "eu-west-1"), ("Content-Type", "application/xml")][..],
            "<Error><Code>PermanentRedirect</Code><Message>m</Message><Endpoint>b.s3.eu-west-1.amazonaws.com</Endpoint></Error>",
            &["PermanentRedirect", "region `eu-west-1`", "endpoint `b.s3.eu-west-1.amazonaws.com`"][..],
        ),
        (
            400,
            XML,
            "<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message><Region>eu-west-2</Region></Error>",
            &["AuthorizationHeaderMalformed", "region `eu-west-2`"],
        ),
        (
            307,
            XML,
            "<Error><Code>TemporaryRedirect</Code><Message>m</Message><Endpoint>b.s3-eu-west-3.amazonaws.com</Endpoint></Error>",
            &["TemporaryRedirect", "endpoint `b.s3-eu-west-3.amazonaws.com`"],
        ),
        // As a HEAD is answered.
        (301, &[("x-amz-bucket-region", "eu-west-1")], "", &["status 301", "region `eu-west-1`"]),
        (400, &[("x-amz-bucket-region", "eu-west-1")], "", &["status 400", "region `eu-west-1`"]),
        (400, XML, "<Error><Code>InvalidRegion</Code><Message>m</Message></Error>", &["InvalidRegion: m"]),
    ] {
        let port = serve(move |_| Answer::new(status, headers, body));
        let [(_, s3), ..] = stores(port);
        let put = s3.put(&ObjectKey::new("a/1"), vec![Bytes::from_static(b"x")]).await;
        for word in words {
            assert!(misconfigured(&put, word), "{status} {body}: {word}: {put:?}");
        }
    }
}
