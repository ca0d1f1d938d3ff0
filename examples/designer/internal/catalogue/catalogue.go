package catalogue

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed products.csv
var own []byte

// ErrNotCatalogue says that a file is not a valid catalogue.
var ErrNotCatalogue = errors.New("not a catalogue")

// maxSize is the maximum size of a file, which Read reads into memory.
const maxSize = 16 << 20

// A Product is a row of a catalogue. A field without a value in the row is empty or 0.
type Product struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Maker    string  `json:"maker,omitempty"`
	Designer string  `json:"designer,omitempty"`
	Year     string  `json:"year,omitempty"`
	Category string  `json:"category"`
	Material string  `json:"material,omitempty"`
	Colour   string  `json:"colour,omitempty"`
	Style    string  `json:"style,omitempty"`
	Unit     string  `json:"unit,omitempty"`
	Price    float64 `json:"price_eur"`
	Width    float64 `json:"width_cm,omitempty"`
	Depth    float64 `json:"depth_cm,omitempty"`
	Height   float64 `json:"height_cm,omitempty"`
}

// A Catalogue is a list of products. It does not change, and may be used by any number of
// goroutines.
type Catalogue struct {
	products []Product
	byID     map[string]int
}

// Own returns the catalogue that comes with this package.
func Own() (*Catalogue, error) { return Read(bytes.NewReader(own)) }

// Read reads a catalogue: CSV in UTF-8 with a header. The columns id, name, category and price_eur
// are required, the other columns of [Product] are optional, and Read ignores all others. The error
// for an invalid file is an [ErrNotCatalogue], and names the line of an invalid row.
func Read(r io.Reader) (*Catalogue, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("catalogue: %w", err)
	case len(data) > maxSize:
		return nil, wrong("it has more than %d MiB", maxSize>>20)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, wrong("it is no text in UTF-8")
	}
	rows := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	head, err := rows.Read()
	if err != nil {
		return nil, wrong("it has no line of headings: %v", err)
	}
	for i := range head {
		head[i] = strings.ToLower(strings.TrimSpace(head[i]))
	}
	for _, needed := range []string{"id", "name", "category", "price_eur"} {
		if !slices.Contains(head, needed) {
			return nil, wrong("there is no column %q; the columns are %s", needed, strings.Join(head, ", "))
		}
	}
	return read(rows, head)
}

func wrong(format string, args ...any) error {
	return fmt.Errorf("catalogue: %w: %s", ErrNotCatalogue, fmt.Sprintf(format, args...))
}

func read(rows *csv.Reader, head []string) (*Catalogue, error) {
	c := &Catalogue{byID: map[string]int{}}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, wrong("%v", err)
		}
		line, _ := rows.FieldPos(0)
		p, err := product(head, row)
		if err != nil {
			return nil, wrong("line %d: %v", line, err)
		}
		if _, ok := c.byID[p.ID]; ok {
			return nil, wrong("line %d: the id %s comes twice", line, p.ID)
		}
		c.byID[p.ID] = len(c.products)
		c.products = append(c.products, p)
	}
	if len(c.products) == 0 {
		return nil, wrong("it has no products")
	}
	return c, nil
}

func product(head, row []string) (p Product, err error) {
	texts := map[string]*string{
		"id": &p.ID, "name": &p.Name, "maker": &p.Maker, "designer": &p.Designer, "year": &p.Year, "category": &p.Category,
		"material": &p.Material, "colour": &p.Colour, "style": &p.Style, "unit": &p.Unit,
	}
	numbers := map[string]*float64{"price_eur": &p.Price, "width_cm": &p.Width, "depth_cm": &p.Depth, "height_cm": &p.Height}
	for i, name := range head {
		value := strings.TrimSpace(row[i])
		if text, ok := texts[name]; ok {
			*text = value
		}
		if number, ok := numbers[name]; ok && (value != "" || name == "price_eur") {
			*number, err = strconv.ParseFloat(value, 64)
			if err != nil || !(*number >= 0 && *number < 1e9) { // NaN fails both comparisons
				return p, fmt.Errorf("%s is %q, want a number", name, value)
			}
		}
	}
	if p.ID == "" || p.Name == "" {
		return p, errors.New("id or name is empty")
	}
	return p, nil
}

// Len returns the number of products.
func (c *Catalogue) Len() int { return len(c.products) }

// Lookup returns the product with an id. Case does not matter.
func (c *Catalogue) Lookup(id string) (Product, bool) {
	i, ok := c.byID[id]
	if !ok {
		i = slices.IndexFunc(c.products, func(p Product) bool { return strings.EqualFold(p.ID, id) })
	}
	if i < 0 {
		return Product{}, false
	}
	return c.products[i], true
}

// Words returns the distinct values of a column in order, for example of the materials.
func (c *Catalogue) Words(column func(Product) string) []string {
	var out []string
	for _, p := range c.products {
		if v := column(p); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
