package budget

// The share of a budget that is kept for a second opinion.

import (
	"context"
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

const (
	reviewShare = 5               // one part of so many
	mostReview  = 2 * time.Minute // of the wall clock
	leastReview = 5 * time.Second // with less nothing is asked
)

// KeepForReview keeps a fifth of the tokens and of the cost, and of the wall clock at most two minutes, for a second
// opinion: neither the agents nor the verification use it. It is called before the first attempt.
func (b *Budget) KeepForReview() { b.review = true }

func (b *Budget) reviewWall() time.Duration {
	if !b.review {
		return 0
	}
	return min(b.Limit.WallClock/reviewShare, mostReview)
}

func (b *Budget) reviewTokens() int64 {
	if !b.review {
		return 0
	}
	return b.Limit.Tokens / reviewShare
}

func (b *Budget) reviewCost() float64 {
	if !b.review {
		return 0
	}
	return b.Limit.CostUSD / reviewShare
}

func (b *Budget) restKept() string {
	if !b.review {
		return ""
	}
	return ", the rest is kept for the reviewer"
}

// Review returns what a second opinion may use, as Caps does, and a context that ends so long before its part of the wall
// clock that a program which does not stop by itself is ended in it. why tells why nothing can be asked; then there is no context.
func (b *Budget) Review(ctx context.Context) (
	work context.Context, cancel context.CancelFunc, tokens int64, cost float64, why string,
) {
	left := max(0, min(time.Until(b.end().Add(b.reviewWall())), mostReview)-sandbox.Grace)
	if left < leastReview {
		return nil, nil, 0, 0, fmt.Sprintf("only %s of the wall clock would be left for it", left.Round(time.Second))
	}
	if b.Limit.Tokens > 0 {
		if tokens = min(b.reviewTokens(), b.Limit.Tokens-b.tokens.sum); tokens <= 0 {
			return nil, nil, 0, 0, fmt.Sprintf("%d of %d tokens are used", b.tokens.sum, b.Limit.Tokens)
		}
	}
	if b.Limit.CostUSD > 0 {
		if cost = min(b.reviewCost(), b.Limit.CostUSD-b.cost.sum); cost <= 0 {
			return nil, nil, 0, 0, fmt.Sprintf("$%.4f of $%.4f are used", b.cost.sum, b.Limit.CostUSD)
		}
	}
	work, cancel = context.WithDeadlineCause(ctx, time.Now().Add(left), ErrWallClock)
	return work, cancel, tokens, cost, ""
}
