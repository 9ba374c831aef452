package gauge

import (
	"math"
	"slices"
	"strconv"
)

// Quantile of values, sorted or not; 0 of none.
func Quantile[T int64 | float64](values []T, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return float64(sorted[int(float64(len(sorted)-1)*q)])
}

// Show keeps three digits that count.
func Show(value float64) string {
	size := math.Abs(value)
	switch {
	case size >= 1000:
		text := strconv.FormatFloat(value, 'f', 0, 64)
		for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		return text
	case size >= 100 || value == 0:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(value, 'f', 2, 64)
	default:
		return strconv.FormatFloat(value, 'f', 3, 64)
	}
}
