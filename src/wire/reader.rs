//! Reading Kafka's primitives out of bytes that may be anything.

use crate::model::KafkaUuid;

/// Bytes that are not what they should be: which field, at which byte, and what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {position}: {field}: {why}")]
pub struct Malformed {
    /// Distance from the first byte of the input, also inside of nested fields.
    pub position: usize,
    pub field: &'static str,
    pub why: &'static str,
}

/// A position in bytes. Every method reads one value, or fails and says which `field` it was about.
///
/// Numbers are big endian. Lengths are checked against what is left before anything is allocated.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    input: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    #[must_use]
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, position: 0 }
    }

    /// Bytes not read yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.input.len().saturating_sub(self.position)
    }

    /// Distance from the first byte of the outermost input.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// An error about `field` at the current position.
    #[must_use]
    pub fn malformed(&self, field: &'static str, why: &'static str) -> Malformed {
        Malformed { position: self.position, field, why }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`Malformed`] if bytes are left.
    pub fn finish(&self, field: &'static str) -> Result<(), Malformed> {
        if self.remaining() == 0 { Ok(()) } else { Err(self.malformed(field, "bytes are left behind the end")) }
    }

    /// The next `len` bytes, not copied.
    ///
    /// # Errors
    /// [`Malformed`] if fewer are left.
    pub fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], Malformed> {
        let end = self.position.checked_add(len);
        match end.and_then(|end| Some((end, self.input.get(self.position..end)?))) {
            Some((end, bytes)) => {
                self.position = end;
                Ok(bytes)
            }
            None => Err(self.malformed(field, "the bytes end inside of it")),
        }
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let short = self.malformed(field, "the bytes end inside of it");
        self.take(N, field)?.try_into().map_err(|_| short)
    }

    /// # Errors
    /// [`Malformed`] at the end of the input.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        self.array(field).map(|[byte]| byte)
    }

    /// # Errors
    /// [`Malformed`] at the end of the input.
    pub fn i8(&mut self, field: &'static str) -> Result<i8, Malformed> {
        self.array(field).map(i8::from_be_bytes)
    }

    /// # Errors
    /// [`Malformed`] if fewer than 4 bytes are left.
    pub fn i32(&mut self, field: &'static str) -> Result<i32, Malformed> {
        self.array(field).map(i32::from_be_bytes)
    }

    /// # Errors
    /// [`Malformed`] if fewer than 8 bytes are left.
    pub fn i64(&mut self, field: &'static str) -> Result<i64, Malformed> {
        self.array(field).map(i64::from_be_bytes)
    }

    /// # Errors
    /// [`Malformed`] if fewer than 16 bytes are left.
    pub fn uuid(&mut self, field: &'static str) -> Result<KafkaUuid, Malformed> {
        self.array(field).map(KafkaUuid)
    }

    /// Kafka's unsigned varint: 7 bits a byte, lowest first. Longer forms of small numbers count too, as in Kafka.
    ///
    /// # Errors
    /// [`Malformed`] if the number has more than 32 bits or the bytes end in it.
    pub fn uvarint(&mut self, field: &'static str) -> Result<u32, Malformed> {
        let start = self.clone();
        u32::try_from(self.uvarlong(field)?).map_err(|_| start.malformed(field, "a varint of more than 32 bits"))
    }

    /// As [`Reader::uvarint`], for 64 bits.
    ///
    /// # Errors
    /// [`Malformed`] if the number has more than 64 bits or the bytes end in it.
    pub fn uvarlong(&mut self, field: &'static str) -> Result<u64, Malformed> {
        let start = self.clone();
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(field)?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(start.malformed(field, "a varint of more than 64 bits"))
    }

    /// Kafka's signed varlong: zig-zag, so that small negative numbers are short too.
    ///
    /// # Errors
    /// As [`Reader::uvarlong`].
    pub fn varlong(&mut self, field: &'static str) -> Result<i64, Malformed> {
        let zigzag = self.uvarlong(field)?;
        Ok((zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()))
    }

    /// Kafka's compact nullable bytes: a length plus one, 0 for null.
    ///
    /// # Errors
    /// [`Malformed`] if the length is more than what is left.
    pub fn compact_nullable_bytes(&mut self, field: &'static str) -> Result<Option<&'a [u8]>, Malformed> {
        match self.uvarint(field)?.checked_sub(1) {
            Some(len) => self.take(usize::try_from(len).unwrap_or(usize::MAX), field).map(Some),
            None => Ok(None),
        }
    }

    /// Kafka's compact string, which must not be null. At most 32767 bytes, as Kafka has it.
    ///
    /// # Errors
    /// [`Malformed`] if it is null, longer than what is left, longer than Kafka allows or no UTF-8.
    pub fn compact_string(&mut self, field: &'static str) -> Result<&'a str, Malformed> {
        let start = self.clone();
        let bytes = self.compact_nullable_bytes(field)?.ok_or_else(|| start.malformed(field, "null"))?;
        if bytes.len() > i16::MAX.unsigned_abs().into() {
            return Err(start.malformed(field, "longer than 32767 bytes"));
        }
        std::str::from_utf8(bytes).map_err(|_| start.malformed(field, "not UTF-8"))
    }

    /// Length of a compact array that must not be null and whose elements have at least `element_size_min` bytes each.
    ///
    /// # Errors
    /// [`Malformed`] if it is null, or so long that its elements cannot be in what is left.
    pub fn compact_array_len(&mut self, element_size_min: usize, field: &'static str) -> Result<usize, Malformed> {
        let start = self.clone();
        let len = self.uvarint(field)?.checked_sub(1).ok_or_else(|| start.malformed(field, "null"))?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > self.remaining() / element_size_min.max(1) {
            return Err(start.malformed(field, "more elements than the bytes can hold"));
        }
        Ok(len)
    }

    /// A tagged-field section. `known` gets each tag with a reader of exactly its bytes, and tells whether it has read
    /// them; what it doesn't know is passed over.
    ///
    /// # Errors
    /// [`Malformed`] if tags do not ascend, a size is more than what is left, or a known field is longer than its value.
    pub fn tagged_fields(
        &mut self,
        field: &'static str,
        mut known: impl FnMut(u32, &mut Reader<'a>) -> Result<bool, Malformed>,
    ) -> Result<(), Malformed> {
        let count = self.uvarint(field)?;
        let mut previous = None;
        // Not bounded by `count`, which may be anything: each round takes at least two bytes or fails.
        for _ in 0..count {
            let start = self.clone();
            let tag = self.uvarint(field)?;
            if previous.is_some_and(|previous| previous >= tag) {
                return Err(start.malformed(field, "tags do not ascend"));
            }
            previous = Some(tag);
            let size = usize::try_from(self.uvarint(field)?).unwrap_or(usize::MAX);
            let from = self.position;
            self.take(size, field)?;
            let mut value = Reader { input: self.input.get(..self.position).unwrap_or_default(), position: from };
            if known(tag, &mut value)? {
                value.finish(field)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_read_as_kafka_writes_them() {
        // Source: the table of Kafka's ByteUtilsTest.
        let unsigned: [(&[u8], u32); 6] = [
            (&[0x00], 0),
            (&[0x7f], 127),
            (&[0x80, 0x01], 128),
            (&[0xff, 0x7f], 16383),
            (&[0x80, 0x80, 0x01], 16384),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], u32::MAX),
        ];
        for (bytes, number) in unsigned {
            assert_eq!(Reader::new(bytes).uvarint("x"), Ok(number));
        }
        let signed: [(&[u8], i64); 6] = [
            (&[0x00], 0),
            (&[0x01], -1),
            (&[0x02], 1),
            (&[0xc8, 0x01], 100),
            (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MAX),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MIN),
        ];
        for (bytes, number) in signed {
            assert_eq!(Reader::new(bytes).varlong("x"), Ok(number));
        }
    }

    #[test]
    fn a_varint_that_is_too_long_is_refused_where_it_begins() {
        let cases: [&[u8]; 4] = [
            &[0x55, 0xff, 0xff, 0xff, 0xff, 0x1f],
            &[0x55, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            &[0x55, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
            &[0x55, 0x80],
        ];
        for bytes in cases {
            let mut reader = Reader::new(bytes);
            assert_eq!(reader.u8("first"), Ok(0x55));
            let error = reader.uvarint("second").expect_err("too long");
            assert_eq!(error.field, "second");
            assert!(error.position == 1 || error.why.contains("end"), "{error}");
        }
    }

    #[test]
    fn an_array_longer_than_its_bytes_is_refused_before_it_is_allocated() {
        let mut reader = Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3]);
        assert_eq!(
            reader.compact_array_len(1, "epochs").map_err(|e| e.why),
            Err("more elements than the bytes can hold")
        );
        let mut reader = Reader::new(&[4, 1, 2, 3]);
        assert_eq!(reader.compact_array_len(1, "epochs"), Ok(3));
    }

    #[test]
    fn a_known_tagged_field_must_use_all_of_its_bytes() {
        let read = |bytes: &[u8]| {
            let mut seen = Vec::new();
            Reader::new(bytes).tagged_fields("tags", |tag, value| {
                seen.push((tag, value.remaining()));
                if tag == 1 {
                    value.u8("one")?;
                }
                Ok(tag == 1)
            })?;
            Ok::<_, Malformed>(seen)
        };
        assert_eq!(read(&[2, 1, 1, 9, 7, 2, 8, 8]), Ok(vec![(1, 1), (7, 2)]));
        assert_eq!(read(&[1, 1, 2, 9, 9]).map_err(|e| (e.position, e.why)), Err((4, "bytes are left behind the end")));
        assert_eq!(read(&[1, 1, 0]).map_err(|e| (e.position, e.field)), Err((3, "one")));
        assert_eq!(read(&[2, 7, 0, 7, 0]).map_err(|e| (e.position, e.why)), Err((3, "tags do not ascend")));
        assert!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    }
}
