import fc from 'fast-check'
import type { Filter } from '../../../src/model/filters/filter.ts'

/** Filters that join and negate the leaves, up to the depth. */
export const treesOf = (leaves: fc.Arbitrary<Filter>, maxDepth: number): fc.Arbitrary<Filter> =>
  fc.letrec<{ tree: Filter }>(tie => ({
    tree: fc.oneof(
      { maxDepth, withCrossShrink: true },
      leaves,
      fc.record(
        {
          kind: fc.constantFrom('and' as const, 'or' as const),
          parts: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
        },
        { noNullPrototype: true },
      ),
      fc.record({ kind: fc.constant('not' as const), part: tie('tree') }, { noNullPrototype: true }),
    ),
  })).tree
