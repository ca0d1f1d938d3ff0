package llm

import (
	"encoding/base64"
	"slices"
	"strings"
)

// A media is the form of a block with an image or a file: the block without the
// content, and the path of the content in the block.
type media struct {
	Shape object   `json:"shape"`
	At    []string `json:"at"`
	// DataURL reports whether Data is written as a data URL, and not as base64.
	DataURL bool `json:"data_url,omitempty"`
	// Was is the fingerprint of the part when it was read, without its content.
	Was string `json:"was"`
}

// mediaTypes are the types of blocks that hold an image or a file. A block of type
// media can hold either.
var mediaTypes = map[string]PartType{
	"image_url": PartImage, "image": PartImage,
	"file": PartFile, "document": PartFile,
	"media": "",
}

// mediaPlaces are the paths at which a block can have its content, or its URL.
var mediaPlaces = [][]string{
	{"image_url"},
	{"image_url", "url"},
	{"source", "data"},
	{"source", "url"},
	{"file", "file_data"},
	{"data"},
	{"base64"},
	{"url"},
}

// mediaKeys are the keys of a block that Shape holds. Any other key stays in the metadata.
var mediaKeys = []string{
	"type", "image_url", "source", "source_type", "file", "data", "base64", "url",
	"mime_type", "mimeType", "filename", "title", "metadata", "extras", "detail",
}

// readMedia reads a block that holds an image or a file.
func readMedia(theirs object) (Part, bool) {
	typ, ok := mediaTypes[theirs.text("type")]
	if !ok {
		return Part{}, false
	}
	p := Part{Type: typ, MIMEType: theirs.firstText("mime_type", "mimeType")}
	if p.MIMEType == "" {
		p.MIMEType = theirs.object("source").text("media_type")
	}
	if p.Type == "" {
		p.Type = PartFile
		if strings.HasPrefix(p.MIMEType, "image/") {
			p.Type = PartImage
		}
	}
	if p.Type == PartImage {
		p.Detail = theirs.firstText("detail")
		if detail := theirs.object("image_url").text("detail"); detail != "" {
			p.Detail = detail
		}
	} else {
		p.Name = theirs.fileName()
	}
	known := func(key string) bool { return slices.Contains(mediaKeys, key) }
	metadata := theirs.without(known)
	m := media{Shape: theirs.without(func(key string) bool { return !known(key) })}
	for _, m.At = range mediaPlaces {
		content := m.Shape.at(m.At)
		if content == "" {
			continue
		}
		if !p.fill(content, &m) {
			return Part{}, false
		}
		m.Shape = m.Shape.replace(m.At, "")
		m.Was = p.fingerprint()
		p.Metadata = rest{}.put(metadata)
		if string(canonical(encode(p.langChainMedia(nil)))) != string(canonical(encode(p.langChainMedia(&m)))) {
			p.Metadata = rest{Media: &m}.put(metadata)
		}
		return p, true
	}
	return Part{}, false
}

// fill sets the content, which is a data URL, a URL or base64. It reports false
// if the content cannot be read.
func (p *Part) fill(content string, m *media) bool {
	head, data, ok := strings.Cut(content, ";base64,")
	switch place := m.At[len(m.At)-1]; {
	case ok && strings.HasPrefix(head, "data:"):
		p.MIMEType, m.DataURL = strings.TrimPrefix(head, "data:"), true
	case place == "data" || place == "base64":
		data = content
	default:
		p.URL = content
		return true
	}
	bytes, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return false
	}
	p.Data = bytes
	return true
}

func (o object) fileName() string {
	if name := o.firstText("filename", "title"); name != "" {
		return name
	}
	for _, key := range []string{"file", "metadata", "extras"} {
		if name := o.object(key).firstText("filename", "name", "title"); name != "" {
			return name
		}
	}
	return ""
}

// fingerprint returns the fingerprint of the part without its content.
func (p Part) fingerprint() string {
	if p.URL != "" {
		p.URL = "url"
	}
	p.Data, p.Metadata = nil, nil
	return fingerprint(encode(p))
}

// langChainMedia returns the block of an image or a file. It has the form m,
// unless the part was changed since it was read.
func (p Part) langChainMedia(m *media) object {
	switch {
	case m == nil || len(m.At) == 0 || m.Was != p.fingerprint():
		return p.plainMedia()
	case p.URL != "":
		return m.Shape.replace(m.At, p.URL)
	case m.DataURL:
		return m.Shape.replace(m.At, p.dataURL())
	default:
		return m.Shape.replace(m.At, base64.StdEncoding.EncodeToString(p.Data))
	}
}

func (p Part) dataURL() string {
	return "data:" + p.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// plainMedia returns the block in the form that most programs read.
func (p Part) plainMedia() object {
	if p.Type == PartImage {
		url := object{"url": encode(p.URL)}
		if p.URL == "" {
			url["url"] = encode(p.dataURL())
		}
		url.set("detail", p.Detail)
		return object{"type": encode("image_url"), "image_url": encode(url)}
	}
	theirs := object{"type": encode("file")}
	theirs.set("mime_type", p.MIMEType)
	theirs.set("filename", p.Name)
	theirs.set("url", p.URL)
	if p.URL == "" {
		theirs["base64"] = encode(base64.StdEncoding.EncodeToString(p.Data))
	}
	return theirs
}

// at returns the string at a path, or "".
func (o object) at(path []string) string {
	for ; len(path) > 1; path = path[1:] {
		o = o.object(path[0])
	}
	return o.text(path[0])
}

// replace returns a copy of the object with another string at a path.
func (o object) replace(path []string, text string) object {
	out := o.without(func(string) bool { return false })
	if len(path) == 1 {
		out[path[0]] = encode(text)
	} else {
		out[path[0]] = encode(o.object(path[0]).replace(path[1:], text))
	}
	return out
}
