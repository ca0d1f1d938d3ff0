// Package catalogue reads products from a CSV file and searches them.
//
// The file that comes with it has 150 designs and materials that exist, from the chairs of
// Thonet to the marble of Carrara. Prices and sizes are rounded, and no offers.
package catalogue
