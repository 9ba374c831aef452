package main

import (
	"iter"
	"math/bits"
)

// members gives the numbers in a set, in order.
func members(set uint8) iter.Seq[uint8] {
	return func(yield func(uint8) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(lowest(set)) {
				return
			}
		}
	}
}

// each gives the items of a set one by one.
func each(items Items) iter.Seq[Items] {
	return func(yield func(Items) bool) {
		for ; items != 0; items &= items - 1 {
			if !yield(items & -items) {
				return
			}
		}
	}
}

func lowest(set uint8) uint8 { return uint8(bits.TrailingZeros8(set)) }
