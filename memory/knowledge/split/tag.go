package split

import "strings"

// markup reads what begins with <, and returns false if that is only a character.
func (r *htmlReader) markup() bool {
	rest := r.source[r.at:]
	switch {
	case len(rest) < 2 || r.broken:
		return false
	case strings.HasPrefix(rest, "<!--"):
		r.at = r.after("-->", r.at+2) // <!--> is a whole one
		return true
	case strings.HasPrefix(rest, "<![CDATA["): // text, in what is more XML than HTML
		start, end := r.at+9, r.after("]]>", r.at+9)
		r.at = end
		if strings.HasSuffix(r.source[start:end], "]]>") {
			end -= 3
		}
		if r.hidden == "" {
			r.words(start, end)
		}
		return true
	case rest[1] == '!' || rest[1] == '?':
		r.at = r.after(">", r.at)
		return true
	case rest[1] == '/':
		if len(rest) > 2 && classes[rest[2]] != letter {
			r.at = r.after(">", r.at)
			return true
		}
	case classes[rest[1]] != letter:
		return false
	}
	return r.element()
}

// element reads a tag.
func (r *htmlReader) element() bool {
	begin, closes := r.at+1, r.source[r.at+1] == '/'
	if closes {
		begin++
	}
	name, hides, end := r.tag(begin)
	if end < 0 || name == "" {
		r.broken = end < 0
		return false
	}
	r.at = end
	if closes {
		r.endTag(name)
	} else {
		r.startTag(name, hides)
	}
	return true
}

// after returns what follows the next mark, or the end.
func (r *htmlReader) after(mark string, at int) int {
	if i := strings.Index(r.source[at:], mark); i >= 0 {
		return at + i + len(mark)
	}
	return len(r.source)
}

// tag reads a name and attributes, and returns whether they say that the element is not
// shown. The end is negative for a tag that has none.
func (r *htmlReader) tag(at int) (name string, hides bool, end int) {
	s := r.source
	start := at
	for at < len(s) && s[at] > ' ' && s[at] != '>' && s[at] != '/' {
		at++
	}
	name = strings.ToLower(clip(s[start:at], 32))
	for at < len(s) && s[at] != '>' {
		attribute, value, next := readAttribute(s, at)
		at = next
		hides = hides || strings.EqualFold(attribute, "hidden") || strings.EqualFold(attribute, "style") && invisible(value)
	}
	if at >= len(s) {
		return name, hides, -1
	}
	return name, hides, at + 1
}

// readAttribute reads a name with its value, or one character that is neither.
func readAttribute(s string, at int) (name, value string, end int) {
	begin := at
	for at < len(s) && s[at] > ' ' && s[at] != '>' && s[at] != '=' && s[at] != '/' {
		at++
	}
	name = s[begin:at]
	switch {
	case at < len(s) && s[at] == '=':
		value, at = attributeValue(s, at+1)
	case at == begin:
		at++
	}
	return name, value, at
}

// attributeValue reads what stands behind the equals sign.
func attributeValue(s string, at int) (value string, end int) {
	for at < len(s) && s[at] <= ' ' {
		at++
	}
	if at < len(s) && (s[at] == '"' || s[at] == '\'') {
		i := strings.IndexByte(s[at+1:], s[at])
		if i < 0 {
			return "", len(s)
		}
		return s[at+1 : at+1+i], at + i + 2
	}
	begin := at
	for at < len(s) && s[at] > ' ' && s[at] != '>' {
		at++
	}
	return s[begin:at], at
}

func invisible(style string) bool {
	style = strings.ToLower(strings.Join(strings.Fields(clip(style, 1000)), ""))
	return strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}
