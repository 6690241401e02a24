// A histogram of prom-client that does its own counting: the library checks and hashes the labels at every observation, which
// costs more than all other measurements of a request.
import { Histogram } from 'prom-client'
import type { Registry } from 'prom-client'

/** One series of a histogram. */
export interface Series {
  observe(value: number): void
}

interface CountedSeries extends Series {
  /** By bucket, not cumulated; the last is of values above all bounds. */
  readonly counts: readonly number[]
  readonly sum: () => number
}

/** Callers look a series up once and keep it. */
export class SeriesHistogram<Label extends string> extends Histogram {
  readonly #named: { readonly name: string; readonly help: string }
  readonly #bounds: readonly number[]
  readonly #series: { readonly labels: Readonly<Record<Label, string>>; readonly counted: CountedSeries }[] = []

  constructor(description: {
    readonly name: string
    readonly help: string
    readonly labelNames: readonly Label[]
    /** Upper bounds, ascending. */
    readonly buckets: readonly number[]
    readonly registers: Registry[]
  }) {
    super({ ...description, buckets: [...description.buckets] })
    this.#named = description
    this.#bounds = description.buckets
  }

  /** Adds a series; the labels must be new. */
  add(labels: Readonly<Record<Label, string>>): Series {
    const counted = createSeries(this.#bounds)
    this.#series.push({ labels, counted })
    return counted
  }

  /** Called by the library for the text format and, inside its `get`, for other processes. */
  async getForPromString(): Promise<object> {
    const { name, help } = this.#named
    const values = this.#series.flatMap(({ labels: sharedLabels, counted: { counts, sum } }) => {
      let total = 0
      const buckets = [...this.#bounds, '+Inf'].map((le, index) => {
        total += counts[index] ?? 0
        return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: total }
      })
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum() },
        { metricName: `${name}_count`, labels: {}, sharedLabels, value: total },
      ]
    })
    return { name, help, type: 'histogram', aggregator: 'sum', values }
  }
}

/** The series whose first labels are the same. */
interface Branch {
  readonly branches: Map<string, Branch>
  series?: Series
}

/**
 * Finds a series by the values of its labels, or adds it: label by label, because one key of all labels would be made and hashed
 * at each call.
 */
export function seriesFinder<Labels extends string[]>(
  add: (...labels: Labels) => Series,
): (...labels: Labels) => Series {
  const root: Branch = { branches: new Map() }
  return (...labels) => {
    let branch = root
    for (const label of labels) {
      let next = branch.branches.get(label)
      if (next === undefined) branch.branches.set(label, (next = { branches: new Map() }))
      branch = next
    }
    return (branch.series ??= add(...labels))
  }
}

function createSeries(bounds: readonly number[]): CountedSeries {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0)
  let sum = 0
  return {
    counts,
    sum: () => sum,
    observe(value) {
      let index = 0
      while (index < bounds.length && value > (bounds[index] ?? 0)) index += 1
      counts[index] = (counts[index] ?? 0) + 1
      sum += value
    },
  }
}
