// What a soak measured, as a table, a summary and a plot.
import type { Tried } from '../test/chaos/load.ts'

/** One minute of it. */
export interface Minute {
  readonly tried: Tried[]
  readonly nodes: readonly { readonly resident: number; readonly heap: number; readonly openFiles: number }[]
  /** CPU time of all nodes, as a share of one core. */
  readonly cores: number
  readonly databaseBytes: number
  /** Of the whole machine, everybody else included. */
  readonly machineLoad: number
}

/** All of it. */
export interface Soak {
  readonly rate: number
  readonly begin: number
  readonly minutes: readonly Minute[]
  /** From the kill of PostgreSQL until it took connections again. */
  readonly outages: readonly { readonly from: number; readonly until: number }[]
  readonly violations: readonly string[]
  readonly skipped: number
  readonly lost: readonly string[]
  readonly faults: readonly string[]
  readonly compared: string
}

const MIB = 2 ** 20
/** Until caches, pools and compiled code are there. */
const WARM_UP_MINUTES = 5
const CALM_MS = 1000
/** From the end of an outage on, failures are errors. */
const RECOVERY_MS = 5000

const mib = (bytes: number): string => (Number.isFinite(bytes) ? (bytes / MIB).toFixed(1) : '–')

/** The value below which so much of them lie. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const timesOf = (tried: readonly Tried[]): readonly number[] =>
  tried.filter(({ outcome }) => outcome === 'done').map(({ milliseconds }) => milliseconds)

/** Rows of Markdown, one a minute. */
export function tableOf(minutes: readonly Minute[], hasHead: boolean, first = 1): string {
  const rows = minutes.map(({ tried, nodes, cores, databaseBytes, machineLoad }, index) => {
    const times = timesOf(tried)
    const count = (outcome: string): number => tried.filter(each => each.outcome === outcome).length
    return [
      first + index,
      times.length,
      count('refused'),
      count('broken'),
      quantile(times, 0.5).toFixed(0),
      quantile(times, 0.99).toFixed(0),
      nodes.map(({ resident }) => mib(resident)).join(' / '),
      nodes.map(({ heap }) => mib(heap)).join(' / '),
      nodes.map(({ openFiles }) => openFiles).join(' / '),
      mib(databaseBytes),
      cores.toFixed(2),
      machineLoad.toFixed(1),
    ]
  })
  const head = [
    'minute',
    'done',
    '503',
    'no answer',
    'p50 ms',
    'p99 ms',
    'RSS MiB',
    'heap MiB',
    'open files',
    'database MiB',
    'cores',
    'load',
  ]
  const lines = rows.map(row => `| ${row.join(' | ')} |`)
  return (hasHead ? [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...lines] : lines).join('\n')
}

/** Growth of a value a minute, by least squares. */
export function slopeOf(values: readonly number[]): number {
  const mean = (list: readonly number[]): number => list.reduce((sum, each) => sum + each, 0) / list.length
  const places = values.map((_, index) => index)
  const [x, y] = [mean(places), mean(values)]
  const covariance = mean(values.map((value, index) => (index - x) * (value - y)))
  return covariance / mean(places.map(place => (place - x) ** 2))
}

/** How long after the end of each outage a second began in which nothing failed. */
export function recoveriesOf({ outages, minutes }: Pick<Soak, 'outages' | 'minutes'>): readonly number[] {
  const failures = minutes
    .flatMap(({ tried }) => tried)
    .filter(({ outcome }) => outcome !== 'done')
    .map(({ begun }) => begun)
    .toSorted((a, b) => a - b)
  return outages.map(({ until }) => {
    const last = failures
      .filter(begun => begun > until)
      .reduce((at, begun) => (begun - at < CALM_MS ? begun : at), until)
    return last - until
  })
}

/** Failures that no outage explains. */
export const errorsOf = ({ outages, minutes }: Pick<Soak, 'outages' | 'minutes'>): readonly Tried[] =>
  minutes
    .flatMap(({ tried }) => tried)
    .filter(({ outcome }) => outcome !== 'done')
    .filter(
      ({ begun, milliseconds }) =>
        !outages.some(({ from, until }) => begun + milliseconds > from && begun < until + RECOVERY_MS),
    )

/** What was found, as Markdown. */
export function summaryOf(soak: Soak): string {
  const { minutes, rate, outages, violations, skipped, lost, faults, compared } = soak
  const all = minutes.flatMap(({ tried }) => tried)
  const errors = errorsOf(soak)
  const warm = minutes.slice(Math.min(WARM_UP_MINUTES, Math.floor(minutes.length / 3)))
  const growth = (warm[0]?.nodes ?? []).map(
    (_, node) => slopeOf(warm.map(({ nodes }) => nodes[node]?.resident ?? 0)) / MIB,
  )
  const heapGrowth = (warm[0]?.nodes ?? []).map(
    (_, node) => slopeOf(warm.map(({ nodes }) => nodes[node]?.heap ?? 0)) / MIB,
  )
  const third = Math.ceil(warm.length / 3)
  const kinds = [...new Set(all.map(({ name }) => name))].toSorted()
  const rows = kinds.map(kind => {
    const times = (part: readonly Minute[]): readonly number[] =>
      timesOf(part.flatMap(({ tried }) => tried.filter(({ name }) => name === kind)))
    const cells = [warm.slice(0, third), warm.slice(-third)].map(part => {
      const found = times(part)
      return `${quantile(found, 0.5).toFixed(0)} / ${quantile(found, 0.99).toFixed(0)}`
    })
    return `| ${kind} | ${times(minutes).length} | ${cells.join(' | ')} |`
  })
  const mean = (list: readonly number[]): number => list.reduce((sum, each) => sum + each, 0) / list.length
  return [
    `- ${minutes.length} minutes, ${rate} operations a second, ${all.length} operations; the nodes took ${mean(minutes.map(({ cores }) => cores)).toFixed(2)} cores together, the load of the machine was ${mean(minutes.map(({ machineLoad }) => machineLoad)).toFixed(1)} on average`,
    `- memory after the warm-up: RSS ${growth.map(each => each.toFixed(2)).join(' and ')} MiB a minute, heap ${heapGrowth.map(each => each.toFixed(2)).join(' and ')} MiB a minute`,
    `- errors that no outage explains: ${errors.length}; answers that must not be: ${violations.length}; faults in the logs apart from outages: ${faults.length}; operations not begun: ${skipped}`,
    `- PostgreSQL killed ${outages.length} times; well again ${recoveriesOf(soak)
      .map(each => `${(each / 1000).toFixed(1)} s`)
      .join(', ')} after it took connections again`,
    `- compared afterwards (${compared}): ${lost.length === 0 ? 'everything that was acknowledged is there' : `${lost.length} differ`}`,
    ...errors.slice(0, 5).map(({ reason, outcome }) => `  - ${outcome}: ${reason ?? ''}`),
    ...[...violations, ...lost, ...faults].slice(0, 10).map(text => `  - ${text.slice(0, 400)}`),
    '',
    '| operation | done | p50 / p99 ms, first third | last third |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

const WIDTH = 720
const LEFT = 56
const PANEL = 150
const GAP = 44

interface Line {
  readonly values: readonly number[]
  /** `a`, `b`: colours by the style sheet. */
  readonly colour: string
  readonly label: string
}

/** An SVG with two panels over the same minutes: memory, and latencies on a logarithmic scale. Follows dark mode. */
export function plotOf({ minutes, outages, begin, rate }: Soak): string {
  const count = minutes.length
  const x = (minute: number): number => LEFT + (minute / count) * (WIDTH - LEFT - 12)
  const resident = (node: number): readonly number[] =>
    minutes.map(({ nodes }) => (nodes[node]?.resident ?? Number.NaN) / MIB)
  const heap = (node: number): readonly number[] => minutes.map(({ nodes }) => (nodes[node]?.heap ?? Number.NaN) / MIB)
  const times = (share: number): readonly number[] => minutes.map(({ tried }) => quantile(timesOf(tried), share))
  const marks = outages.map(({ from }) => x((from - begin) / 60_000))

  function panel(
    top: number,
    title: string,
    { lines, ticks, scale }: { lines: readonly Line[]; ticks: readonly number[]; scale: (value: number) => number },
  ): string {
    const y = (value: number): number => top + PANEL * (1 - scale(value))
    const grid = ticks.map(
      tick =>
        `<path class="grid" d="M${LEFT} ${y(tick).toFixed(1)}H${WIDTH - 12}"/><text x="${LEFT - 6}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${tick}</text>`,
    )
    const drawn = lines.map(({ values, colour }) => {
      const points = values.flatMap((value, index) =>
        Number.isFinite(value) ? [`${x(index + 0.5).toFixed(1)},${y(value).toFixed(1)}`] : [],
      )
      return `<polyline class="${colour}" points="${points.join(' ')}"/>`
    })
    const legend = lines.map(
      ({ label, colour }, index) =>
        `<text class="${colour}" x="${WIDTH - 12 - (lines.length - 1 - index) * 105}" y="${top - 8}" text-anchor="end">${label}</text>`,
    )
    const kills = marks.map(mark => `<path class="mark" d="M${mark.toFixed(1)} ${top}V${top + PANEL}"/>`)
    return [`<text x="${LEFT}" y="${top - 8}">${title}</text>`, ...grid, ...kills, ...drawn, ...legend].join('\n')
  }

  const most = Math.ceil(Math.max(1, ...[0, 1].flatMap(node => resident(node)).filter(Number.isFinite)) / 50) * 50
  const memory = panel(30, 'memory, MiB', {
    lines: [
      { values: resident(0), colour: 'a', label: 'node 1 RSS' },
      { values: resident(1), colour: 'b', label: 'node 2 RSS' },
      { values: heap(0), colour: 'c', label: 'node 1 heap' },
      { values: heap(1), colour: 'd', label: 'node 2 heap' },
    ],
    ticks: Array.from({ length: most / 50 + 1 }, (_, index) => index * 50),
    scale: value => value / most,
  })
  const latencyTop = 30 + PANEL + GAP
  const latency = panel(latencyTop, 'time of an operation, ms', {
    lines: [
      { values: times(0.5), colour: 'a', label: 'p50' },
      { values: times(0.99), colour: 'b', label: 'p99' },
    ],
    ticks: [1, 10, 100, 1000, 10_000],
    scale: value => Math.log10(Math.max(1, value)) / 4.4,
  })
  const bottom = latencyTop + PANEL
  const step = Math.max(1, Math.round(count / 10))
  const axis = Array.from({ length: Math.floor(count / step) + 1 }, (_, index) => index * step).map(
    minute => `<text x="${x(minute).toFixed(1)}" y="${bottom + 18}" text-anchor="middle">${minute}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 40}" role="img" aria-label="Memory and latencies of two nodes over ${count} minutes">
<style>
text{font:12px system-ui,sans-serif;fill:#444}polyline{fill:none;stroke-width:1.5}.grid{stroke:#8884;stroke-width:1}.mark{stroke:#c33;stroke-dasharray:4 3}
polyline.a{stroke:#0b62c4}polyline.b{stroke:#b45309}polyline.c{stroke:#0a7d55}polyline.d{stroke:#8b3fb8}
text.a{fill:#0b62c4}text.b{fill:#b45309}text.c{fill:#0a7d55}text.d{fill:#8b3fb8}
@media (prefers-color-scheme:dark){text{fill:#ccc}.mark{stroke:#f66}polyline.a{stroke:#6cb2ff}polyline.b{stroke:#ffb454}polyline.c{stroke:#4ecb9c}polyline.d{stroke:#cf9bf2}
text.a{fill:#6cb2ff}text.b{fill:#ffb454}text.c{fill:#4ecb9c}text.d{fill:#cf9bf2}}
</style>
${memory}
${latency}
${axis.join('\n')}
<text x="${LEFT}" y="${bottom + 34}">minutes; dashed: PostgreSQL killed; ${rate} operations a second</text>
</svg>
`
}
