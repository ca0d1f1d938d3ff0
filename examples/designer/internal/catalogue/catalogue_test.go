package catalogue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
)

func open(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	c, err := catalogue.Own()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := open(t)
	if c.Len() != 150 {
		t.Errorf("there are %d products, want 150", c.Len())
	}
	tests := []struct {
		name  string
		query catalogue.Query
		first string // the best
		all   int
	}{
		{"by name", catalogue.Query{Text: "Wishbone chairs"}, "Wishbone Chair CH24", 1},
		{"by designer", catalogue.Query{Text: "Poulsen Henningsen"}, "PH 5", 2},
		{"filters", catalogue.Query{Categories: []string{"CHAIR"}, Materials: []string{"oak"}, MaxPrice: 700}, "HAL Wood", 4},
		{"stone", catalogue.Query{Text: "Italy marble", Categories: []string{"floor tile"}}, "Bianco Carrara", 2},
		{"one of several", catalogue.Query{Categories: []string{"sofa", "daybed"}, Materials: []string{"cotton", "plastic"}}, "Togo", 2},
		{"a group of materials", catalogue.Query{Categories: []string{"stool"}, Materials: []string{"Wood"}}, "Stool 60", 3},
		{"without", catalogue.Query{Categories: []string{"sofa"}, Without: []string{"leather", "cotton"}}, "Charles", 3},
		{"without a group", catalogue.Query{Categories: []string{"desk"}, Without: []string{"wood"}}, "", 0},
		{"sizes", catalogue.Query{Categories: []string{"table"}, MaxWidth: 100, MaxDepth: 100, MaxHeight: 40}, "Cylinda Coffee Table", 2},
		{"prices", catalogue.Query{Categories: []string{"lamp"}, MinPrice: 1090, MaxPrice: 2250}, "Snoopy", 3},
		{"liked words first", catalogue.Query{Categories: []string{"stool"}, Prefer: "maple"}, "Butterfly Stool", 4},
		{"the dearest first", catalogue.Query{Categories: []string{"lamp"}, Dearest: true}, "PH Artichoke", 18},
		{"nothing", catalogue.Query{Text: "submarine"}, "", 0},
		{"everything", catalogue.Query{}, "Metro Tile", 150},
	}
	for _, tt := range tests {
		found, all := c.Search(tt.query, 3)
		first := ""
		if len(found) > 0 {
			first = found[0].Name
		}
		if first != tt.first || all != tt.all || len(found) > 3 {
			t.Errorf("%s: got %q and %d, want %q and %d", tt.name, first, all, tt.first, tt.all)
		}
	}
}

func TestUnknownWords(t *testing.T) {
	t.Parallel()
	if got := open(t).Unknown("cosy Aalto stools 1933 zzz"); !slices.Equal(got, []string{"cosy", "zzz"}) {
		t.Errorf("got %q", got)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	c := open(t)
	if p, ok := c.Lookup("p043"); !ok || p.Name != "Wishbone Chair CH24" || p.Price != 690 || p.Height != 76 {
		t.Errorf("got %+v, %t", p, ok)
	}
	if _, ok := c.Lookup("P999"); ok {
		t.Error("found what is not there")
	}
	if styles := c.Words(func(p catalogue.Product) string { return p.Style }); len(styles) < 10 || styles[0] != "art nouveau" {
		t.Errorf("the styles are %q", styles)
	}
}

func TestReadOther(t *testing.T) {
	t.Parallel()
	c, err := catalogue.Read(strings.NewReader("\ufeffName,ID,extra,Category,price_eur\nBox,b1,x,crate,9.50\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := c.Lookup("b1"); !ok || p.Name != "Box" || p.Price != 9.5 {
		t.Errorf("got %+v", p)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const head = "id,name,category,price_eur\n"
	for text, want := range map[string]string{
		"":                                "no line of headings",
		"\x00\x01PK\x03":                  "no text",
		"\xff\xfe":                        "no text",
		"id,name\n1,x\n":                  `no column "category"`,
		head:                              "no products",
		head + "1,x,c,free\n":             `line 2: price_eur is "free"`,
		head + "1,x,c,NaN\n":              "want a number",
		head + "1,x,c,-2\n":               "want a number",
		head + "1,x,c,2\n1,y,c,3\n":       "line 3: the id 1 comes twice",
		head + ",x,c,2\n":                 "line 2: id or name is empty",
		head + "1,x,c\n":                  "wrong number of fields",
		head + "1,\"x,c,2\n":              "line 2",
		"{\"id\": 1}\n":                   "no line of headings",
		strings.Repeat("x", 16<<20) + "y": "more than 16 MiB",
	} {
		_, err := catalogue.Read(strings.NewReader(text))
		if !errors.Is(err, catalogue.ErrNotCatalogue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("id,name,category,price_eur\n1,x,c,2\n", "x")
	f.Add("id,name,category,price_eur,width_cm\n1,\"x\ny\",c,2,\n", "")
	f.Fuzz(func(t *testing.T, file, text string) {
		c, err := catalogue.Read(strings.NewReader(file))
		if err != nil {
			if !errors.Is(err, catalogue.ErrNotCatalogue) {
				t.Fatal(err)
			}
			return
		}
		found, all := c.Search(catalogue.Query{Text: text}, c.Len())
		if len(found) != all || all > c.Len() {
			t.Fatalf("found %d of %d in %d", len(found), all, c.Len())
		}
		for _, p := range found {
			if again, ok := c.Lookup(p.ID); !ok || again != p {
				t.Fatalf("lost %+v", p)
			}
		}
	})
}

func Example() {
	c, err := catalogue.Own()
	if err != nil {
		panic(err)
	}
	found, all := c.Search(catalogue.Query{Text: "oak chairs", Categories: []string{"chair"}, MaxPrice: 650}, 2)
	for _, p := range found {
		fmt.Println(p.ID, p.Name, p.Price)
	}
	fmt.Println(all, "fit")
	// Output:
	// P042 HAL Wood 540
	// P050 Series 7 3107 590
	// 2 fit
}
