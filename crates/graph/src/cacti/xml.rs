//! As much of XML (1.0) as exports and data queries have: elements, texts, references, CDATA, comments.

/// Octets of a document.
// Limit: size of a Cacti template export
// Beyond: the export is refused
// Seen in: the error message
pub const XML_OCTETS_MAX: usize = 256 << 20;
/// Elements in elements.
pub const XML_DEPTH_MAX: usize = 64;
/// Elements of a document.
const ELEMENTS_MAX: usize = 10_000_000;

/// An element. Attributes are not kept: Cacti writes none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// The text in it, without blanks at its ends, and without that of elements in it.
    pub text: String,
    /// The elements in it.
    pub children: Vec<Element>,
}

impl Element {
    /// The first element of that name in it.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first element of that name; empty if there is none.
    pub fn text_of(&self, name: &str) -> &str {
        self.child(name).map_or("", |child| &child.text)
    }
}

/// Reads a document: its outermost element.
///
/// # Errors
/// What is wrong, and in which line.
pub fn parse(text: &str) -> Result<Element, String> {
    if text.len() > XML_OCTETS_MAX {
        return Err(format!("longer than {XML_OCTETS_MAX} octets"));
    }
    let mut reader = Reader { text, at: 0, elements: 0 };
    reader.document().map_err(|what| {
        let line = text.get(..reader.at).unwrap_or_default().matches('\n').count() + 1;
        format!("line {line}: {what}")
    })
}

struct Reader<'x> {
    text: &'x str,
    at: usize,
    elements: usize,
}

impl<'x> Reader<'x> {
    fn rest(&self) -> &'x str {
        &self.text[self.at..]
    }

    /// Moves behind `text` if it stands here.
    fn skip(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// What stands before `end`, and moves behind it.
    fn until(&mut self, end: &str) -> Result<&'x str, String> {
        let before = self.rest().split_once(end).ok_or_else(|| format!("'{end}' is missing"))?.0;
        self.at += before.len() + end.len();
        Ok(before)
    }

    fn document(&mut self) -> Result<Element, String> {
        self.skip("\u{feff}");
        // Elements that are open, the outermost first.
        let mut open: Vec<Element> = Vec::new();
        loop {
            let before = self.rest().find('<').unwrap_or(self.rest().len());
            let text = references(&self.rest()[..before])?;
            self.at += before;
            match open.last_mut() {
                Some(element) => element.text.push_str(&text),
                None if !text.trim().is_empty() => return Err("text outside of all elements".to_owned()),
                None => {}
            }
            if self.rest().is_empty() {
                return Err(open
                    .pop()
                    .map_or("no element".to_owned(), |element| format!("<{}> is not closed", element.name)));
            }
            if let Some(whole) = self.markup(&mut open)? {
                return Ok(whole);
            }
        }
    }

    /// One tag, comment or section; the document once its outermost element is closed.
    fn markup(&mut self, open: &mut Vec<Element>) -> Result<Option<Element>, String> {
        if self.skip("<!--") {
            self.until("-->")?;
        } else if self.skip("<![CDATA[") {
            let text = self.until("]]>")?;
            if let Some(element) = open.last_mut() {
                element.text.push_str(text);
            }
        } else if self.skip("<?") {
            self.until("?>")?;
        } else if self.skip("<!") {
            return Err("a document type is not read: it may hold anything".to_owned());
        } else if self.skip("</") {
            let name = self.until(">")?.trim_end();
            let mut element = open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
            if element.name != name {
                return Err(format!("</{name}> closes <{}>", element.name));
            }
            close(&mut element);
            return Ok(placed(open, element));
        } else {
            return self.tag(open);
        }
        Ok(None)
    }

    fn tag(&mut self, open: &mut Vec<Element>) -> Result<Option<Element>, String> {
        self.skip("<");
        let tag = self.until(">")?;
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split_whitespace().next().filter(|_| !tag.starts_with(char::is_whitespace));
        let name = name.ok_or("a tag without a name")?;
        self.elements += 1;
        if self.elements > ELEMENTS_MAX || open.len() >= XML_DEPTH_MAX {
            return Err(format!("more than {ELEMENTS_MAX} elements, or {XML_DEPTH_MAX} in each other"));
        }
        let element = Element { name: name.to_owned(), ..Element::default() };
        if empty {
            return Ok(placed(open, element));
        }
        open.push(element);
        Ok(None)
    }
}

fn close(element: &mut Element) {
    let text = element.text.trim();
    if text.len() < element.text.len() {
        element.text = text.to_owned();
    }
}

/// Puts a closed element into the one that it is in; the document if it is in none.
fn placed(open: &mut [Element], element: Element) -> Option<Element> {
    match open.last_mut() {
        Some(parent) => {
            parent.children.push(element);
            None
        }
        None => Some(element),
    }
}

/// Texts with references: `&lt;`, `&#38;`, `&#x26;`. An ampersand that is none is itself, as Cacti's older exports have
/// it.
fn references(text: &str) -> Result<String, String> {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        let end = behind.as_bytes().iter().take(10).position(|octet| *octet == b';');
        let name = end.and_then(|end| behind.get(..end)).unwrap_or_default();
        let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let character = match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => match (name.strip_prefix("#x"), name.strip_prefix('#')) {
                (Some(digits), _) => Some(number(digits, 16).ok_or_else(|| format!("&{name}; is no character"))?),
                (None, Some(digits)) => Some(number(digits, 10).ok_or_else(|| format!("&{name}; is no character"))?),
                (None, None) => None,
            },
        };
        match character {
            Some(character) => {
                out.push(character);
                rest = &behind[name.len() + 1..];
            }
            None => {
                out.push('&');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_texts_and_references() {
        let read = parse(
            "<?xml version='1.0'?>\n<!-- c --><a>\n <b x='1'>1 &lt; 2 &amp;&#38;&#x26; R&D</b><c/><b><![CDATA[<&>]]></b></a>\n",
        );
        let read = read.unwrap();
        assert_eq!((read.name.as_str(), read.text.as_str(), read.children.len()), ("a", "", 3));
        assert_eq!(read.text_of("b"), "1 < 2 &&& R&D");
        assert_eq!(read.children[2].text, "<&>");
        assert_eq!((read.text_of("c"), read.text_of("d")), ("", ""));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, what) in [
            ("", "line 1: no element"),
            ("<a>\n<b></a>", "line 2: </a> closes <b>"),
            ("<a>\n\n", "line 3: <a> is not closed"),
            ("x<a/>", "line 1: text outside"),
            ("</a>", "line 1: </a> closes nothing"),
            ("<a", "line 1: '>' is missing"),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "line 1: a document type"),
            ("<a>&#xD800;</a>", "line 1: &#xD800; is no character"),
            ("< a/>", "line 1: a tag without a name"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.starts_with(what), "{text}: {told}");
        }
        assert!(parse(&"<a>".repeat(100)).unwrap_err().contains("in each other"));
    }
}
