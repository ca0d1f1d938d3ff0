package studio

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
)

// maxScene is the maximum number of products in a scene.
const maxScene = 40

// Scene returns products as a 3D model in the Wavefront format (.obj), in metres. Each product is a
// box of its size, and the boxes stand in rows on a floor.
func Scene(title string, products []catalogue.Product) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", strings.Join(strings.Fields(title), " "))
	perRow := int(math.Ceil(math.Sqrt(float64(len(products)))))
	x, z, deepest, corners := 0.0, 0.0, 0.0, 0
	for i, p := range products[:min(maxScene, len(products))] {
		if i > 0 && i%perRow == 0 {
			x, z, deepest = 0, z+deepest+0.5, 0
		}
		w, h, d := metres(p.Width), metres(p.Height), metres(p.Depth)
		fmt.Fprintf(&b, "o %s_%s\n", p.ID, strings.Join(strings.Fields(p.Name), "_"))
		for _, corner := range [8][3]float64{{0, 0, 0}, {w, 0, 0}, {w, 0, d}, {0, 0, d}, {0, h, 0}, {w, h, 0}, {w, h, d}, {0, h, d}} {
			fmt.Fprintf(&b, "v %.3f %.3f %.3f\n", x+corner[0], corner[1], z+corner[2])
		}
		for _, f := range [6][4]int{{1, 2, 3, 4}, {8, 7, 6, 5}, {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 8, 4}, {4, 8, 5, 1}} {
			fmt.Fprintf(&b, "f %d %d %d %d\n", corners+f[0], corners+f[1], corners+f[2], corners+f[3])
		}
		corners += 8
		x, deepest = x+w+0.3, max(deepest, d)
	}
	return b.String()
}

// metres converts a size to metres. An unknown size becomes half a metre.
func metres(cm float64) float64 {
	if cm <= 0 {
		return 0.5
	}
	return cm / 100
}
