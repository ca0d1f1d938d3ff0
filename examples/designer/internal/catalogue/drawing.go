package catalogue

import (
	"cmp"
	"fmt"
	"strings"
)

// Drawing returns the URL path of a product's drawing. [Product.SVG] returns the drawing.
func Drawing(id string) string { return "/api/drawings/" + id + ".svg" }

// colours maps colours of the catalogue to colours of SVG.
var colours = map[string]string{
	"beige": "#d9c9a8", "black": "#3a3a3c", "blue": "#5b7fb0", "brown": "#8a6242", "clear": "#d5e3e6", "copper": "#b8734a", "gold": "#c7a24e",
	"green": "#6f8f6a", "grey": "#9a9a98", "natural": "#cfae7e", "orange": "#d98943", "red": "#b5483f", "silver": "#b9bec2", "white": "#f1efe9",
}

// shapes has an SVG drawing of each category from the front, in a square of 100 by 100 units.
var shapes = map[string]string{
	"chair":    `<path d="M30 12h40v30H30zM27 50h46v8H27zM29 58l-4 32M71 58l4 32M33 42v8M67 42v8"/>`,
	"armchair": `<path d="M26 18h48v34H26zM14 40h12v30H14zM74 40h12v30H74zM26 52h48v18H26zM22 70v16M78 70v16"/>`,
	"sofa":     `<path d="M14 32h72v24H14zM6 42h8v28H6zM86 42h8v28h-8zM14 56h36v14H14zM50 56h36v14H50zM12 70v8M88 70v8"/>`,
	"daybed":   `<path d="M8 52h84v12H8zM10 40c6-8 18-8 22 0v12H10zM16 64v14M84 64v14"/>`,
	"stool":    `<path d="M28 40h44v10H28zM34 50l-6 36M66 50l6 36M32 70h36"/>`,
	"table":    `<path d="M8 38h84v8H8zM18 46v38M82 46v38"/>`,
	"desk":     `<path d="M8 36h84v8H8zM60 44h26v20H60zM16 44v42M86 64v22M68 54h10"/>`,
	"lamp":     `<path d="M32 40L42 12h16l10 28zM50 40v42M34 82h32v6H34z"/>`,
	"shelf":    `<path d="M16 12h68v6H16zM16 36h68v6H16zM16 60h68v6H16zM16 84h68v6H16zM18 18v66M82 18v66M28 24h8v12h-8zM40 22h8v14h-8zM60 48h14v12H60z"/>`,
	"storage":  `<path d="M10 30h80v48H10zM50 30v48M40 54h4M56 54h4M18 78v8M82 78v8"/>`,
	"trolley":  `<path d="M14 30h68v6H14zM14 58h68v6H14zM18 36v22M78 36v22M82 30l8-10M24 76a6 6 0 1 0 .1 0M72 76a6 6 0 1 0 .1 0M24 64v12M72 64v12"/>`,
	"tile":     `<path d="M14 14h35v35H14zM51 14h35v35H51zM14 51h35v35H14zM51 51h35v35H51z"/>`,
	"slab":     `<path d="M18 10h64v80H18zM18 34c22-10 40 14 64 2M18 66c20 8 40-12 64 0"/>`,
	"flooring": `<path d="M10 16h46v16H10zM58 16h32v16H58zM10 34h28v16H10zM40 34h50v16H40zM10 52h52v16H10zM64 52h26v16H64zM10 70h34v16H10zM46 70h44v16H46z"/>`,
	"":         `<path d="M50 14l34 18v38L50 88 16 70V32zM16 32l34 18 34-18M50 50v38"/>`,
}

// alike maps a category without a shape to a category with a similar one.
var alike = map[string]string{"bench": "table", "rocking chair": "armchair", "office chair": "chair", "floor tile": "tile", "wall tile": "tile"}

// SVG returns a neutral drawing of the product: the shape of its category in its colour.
func (p Product) SVG() string {
	shape, ok := shapes[cmp.Or(alike[strings.ToLower(p.Category)], strings.ToLower(p.Category))]
	if !ok {
		shape = shapes[""]
	}
	fill := cmp.Or(colours[strings.ToLower(p.Colour)], "#c9c4ba")
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="-33 -12 166 124" width="332" height="248"><path fill="#ebe7df" d="M-33-12h166v124H-33z"/>`+
		`<g fill=%q stroke="#4a4742" stroke-width="2" stroke-linejoin="round" stroke-linecap="round">%s</g></svg>`, fill, shape)
}
