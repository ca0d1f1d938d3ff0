package eval

import (
	"math"
	"slices"
)

// An Interval is a mean with its confidence interval of 95 percent, by Student's t distribution. If all values of the
// sample are equal, their deviation is zero. Each end is then the mean of a population in which a share of the cases has
// the lowest or the highest possible value. This share is so large that a sample of the same size contains no such case
// with a probability of 2.5 percent. With fewer than two cases, the interval contains every possible value.
type Interval struct {
	Mean, Low, High float64
}

// intervalOf returns the confidence interval of the population mean, from a sample. The possible
// values are between low and high.
func intervalOf(sample []float64, low, high float64) Interval {
	m, deviation := mean(sample)
	n := len(sample)
	if n < 2 {
		return Interval{m, low, high}
	}
	if !slices.ContainsFunc(sample, func(v float64) bool { return math.Abs(v-sample[0]) > 1e-9 }) {
		others := 1 - math.Pow(0.025, 1/float64(n))
		return Interval{m, m - others*(m-low), m + others*(high-m)}
	}
	half := student(n-1) * deviation / math.Sqrt(float64(n))
	return Interval{m, max(low, m-half), min(high, m+half)}
}

// student returns the quantile 0.975 of Student's t distribution with n degrees of
// freedom. For n of 3 and more it uses the Cornish-Fisher expansion, whose error is at
// most 0.005, and at most 0.0001 for n of 7 and more.
func student(n int) float64 {
	const z = 1.959963984540054
	switch n {
	case 1:
		return 12.706204736
	case 2:
		return 4.302652730
	}
	const z2 = z * z
	v := float64(n)
	return z + z*(z2+1)/(4*v) + z*(5*z2*z2+16*z2+3)/(96*v*v) + z*(3*z2*z2*z2+19*z2*z2+17*z2-15)/(384*v*v*v) +
		z*(79*z2*z2*z2*z2+776*z2*z2*z2+1482*z2*z2-1920*z2-945)/(92160*v*v*v*v)
}
