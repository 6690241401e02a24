// The keys `uaa`, `metrics` and `statsd`, as the reference system has them, and `listen.trusted_proxies`: what operators
// set about health, measurements and the proxies in front.
import { isIP } from 'node:net'
import type { LimitedMode } from '../model/limited-mode.ts'
import { limitedModeOf, limitedModeSchema } from './limited-mode.ts'
import type { LimitedModeFile } from './limited-mode.ts'
import type { Problems } from './problems.ts'
import { section } from './section.ts'

/** The keys of this file as they stand in the configuration file. */
export interface OperationsFile {
  readonly uaa?: {
    readonly health?: { readonly db?: { readonly rate?: number } }
    readonly shutdown?: { readonly sleep?: number }
    readonly limitedFunctionality?: LimitedModeFile
    readonly oauth?: { readonly redirect_uri?: { readonly allow_unsafe_matching?: boolean } }
  }
  readonly metrics?: { readonly enabled?: boolean; readonly perRequestMetrics?: boolean }
  readonly statsd?: { readonly enabled?: boolean; readonly host?: string; readonly port?: number }
}

/** What operators set. */
export interface OperationsSettings {
  /** Milliseconds between two looks at the database. */
  readonly probeMilliseconds: number
  /** Milliseconds between the signal to stop and the end of accepting, while `/healthz` says so. */
  readonly stoppingMilliseconds: number
  /** Absent: never limited. */
  readonly limitedMode?: LimitedMode
  /** Where measurements go; absent: nothing is measured. */
  readonly statsd?: StatsdSettings
}

/** A StatsD server. */
export interface StatsdSettings {
  readonly host: string
  readonly port: number
  /** Whether each request is told by itself too. */
  readonly perRequest: boolean
}

const unsafeMatchingSchema = section('The authorization endpoint.', {
  redirect_uri: section('Redirect URIs.', {
    allow_unsafe_matching: {
      type: 'boolean',
      description:
        'Whether they are matched by wildcards, beginnings of paths and subdomains: default with compatibility: uaa, and only allowed there.',
    },
  }),
})

/** JSON Schema of the keys. */
export const operationsSchemas = {
  uaa: section('Health, shutdown, limited mode and redirect URI matching.', {
    oauth: unsafeMatchingSchema,
    limitedFunctionality: limitedModeSchema,
    health: section('Health.', {
      db: section('The database.', {
        rate: {
          type: 'integer',
          minimum: 100,
          maximum: 3_600_000,
          default: 10_000,
          description: 'Milliseconds between two database checks; /healthz reports the last result.',
        },
      }),
    }),
    shutdown: section('Shutdown.', {
      sleep: {
        type: 'integer',
        minimum: 0,
        maximum: 600_000,
        default: 0,
        description:
          'Milliseconds that the server goes on accepting after it was told to stop, while /healthz answers 503, so that a load balancer turns away in time.',
      },
    }),
  }),
  metrics: section('Metrics; collected only if statsd.enabled is true.', {
    enabled: { type: 'boolean', default: true, description: 'Whether metrics are collected.' },
    perRequestMetrics: {
      type: 'boolean',
      default: false,
      description: 'Whether to send the duration of every request as well.',
    },
  }),
  statsd: section('The StatsD server.', {
    enabled: { type: 'boolean', default: false, description: 'Whether metrics are sent.' },
    host: { type: 'string', minLength: 1, default: 'localhost', description: 'Host name or address.' },
    port: { type: 'integer', minimum: 1, maximum: 65_535, default: 8125, description: 'UDP port.' },
  }),
} as const

/** JSON Schema of `listen.trusted_proxies`. */
export const trustedProxiesSchema = {
  type: 'array',
  items: { type: 'string' },
  default: [],
  description:
    'Addresses of the proxies in front, single or as blocks such as 10.0.0.0/8, whose X-Forwarded-For says who calls.',
} as const

/** The settings, where the types are right. */
export function operationsOf(file: OperationsFile, folder: string, problems: Problems): OperationsSettings {
  const uaa = problems.isSound('uaa') ? file.uaa : undefined
  const metrics = problems.isSound('metrics') ? file.metrics : undefined
  const statsd = problems.isSound('statsd') ? file.statsd : undefined
  const limitedMode = limitedModeOf(uaa?.limitedFunctionality, folder, problems)
  const measures = statsd?.enabled === true && metrics?.enabled !== false
  return {
    probeMilliseconds: uaa?.health?.db?.rate ?? 10_000,
    stoppingMilliseconds: uaa?.shutdown?.sleep ?? 0,
    ...(limitedMode && { limitedMode }),
    ...(measures && {
      statsd: {
        host: statsd.host ?? 'localhost',
        port: statsd.port ?? 8125,
        perRequest: metrics?.perRequestMetrics ?? false,
      },
    }),
  }
}

/** The proxies; what is no address or block, or everybody's, becomes a problem under its key. */
export function trustedProxiesOf(blocks: readonly string[] | undefined, problems: Problems): readonly string[] {
  const key = 'listen.trusted_proxies'
  if (blocks === undefined || !problems.isSound(key)) return []
  for (const [index, block] of blocks.entries()) {
    const [address = '', prefix, ...rest] = block.split('/')
    const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
    const isBlock = prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
    if (bits > 0 && !address.includes('%') && isBlock && rest.length === 0) continue
    const what = /^0+$/.test(prefix ?? '')
      ? 'would let everybody say where they come from'
      : 'must be an IP address or a block such as 10.0.0.0/8'
    problems.add(`${key}[${index}]`, what)
  }
  return blocks
}
