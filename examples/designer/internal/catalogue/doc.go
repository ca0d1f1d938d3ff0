// Package catalogue reads products from a CSV file and searches them.
//
// The embedded file has 150 real designs and materials, from the chairs of Thonet to the marble
// of Carrara. Prices and sizes are rounded. The prices are not offers.
package catalogue
