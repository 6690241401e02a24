// The keys `uaa`, `metrics` and `statsd`, as in UAA, and `listen.trusted_proxies`: health, metrics and proxies.
import { isIP } from 'node:net'
import type { LimitedMode } from '../../model/zones/limited-mode.ts'
import { limitedModeOf, limitedModeSchema } from './limited-mode.ts'
import type { LimitedModeFile } from './limited-mode.ts'
import type { Problems } from '../problems.ts'
import { section } from './section.ts'

/** The keys in the configuration file. */
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

/** The settings for operations. */
export interface OperationsSettings {
  /** Milliseconds between two database checks. */
  readonly probeMilliseconds: number
  /** Milliseconds that the server keeps accepting requests after the stop signal, while `/healthz` answers 503. */
  readonly stoppingMilliseconds: number
  /** Absent: never limited. */
  readonly limitedMode?: LimitedMode
  /** The StatsD server; if absent, nothing is measured. */
  readonly statsd?: StatsdSettings
}

/** A StatsD server. */
export interface StatsdSettings {
  readonly host: string
  readonly port: number
  /** Whether to send the duration of each request. */
  readonly perRequest: boolean
}

const unsafeMatchingSchema = section('The authorization endpoint.', {
  redirect_uri: section('Redirect URIs.', {
    allow_unsafe_matching: {
      type: 'boolean',
      description:
        'Whether wildcards, path prefixes and subdomains match. Default with compatibility: uaa, and only allowed there.',
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
          'Milliseconds that the server keeps accepting requests after the stop signal, while /healthz answers 503, so that a load balancer can stop sending requests in time.',
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
  description: 'Addresses of the proxies in front, or blocks such as 10.0.0.0/8, whose X-Forwarded-For is trusted.',
} as const

/** The settings, as far as their types are correct. */
export function operationsOf(file: OperationsFile, folder: string, problems: Problems): OperationsSettings {
  const uaa = problems.hasValidTypes('uaa') ? file.uaa : undefined
  const metrics = problems.hasValidTypes('metrics') ? file.metrics : undefined
  const statsd = problems.hasValidTypes('statsd') ? file.statsd : undefined
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

/** The proxies; reports what is not an address or block, and blocks of all addresses. */
export function trustedProxiesOf(blocks: readonly string[] | undefined, problems: Problems): readonly string[] {
  const key = 'listen.trusted_proxies'
  if (blocks === undefined || !problems.hasValidTypes(key)) return []
  for (const [index, block] of blocks.entries()) {
    const [address = '', prefix, ...rest] = block.split('/')
    const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
    const isBlock = prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
    if (bits > 0 && !address.includes('%') && isBlock && rest.length === 0) continue
    const what = /^0+$/.test(prefix ?? '')
      ? 'would let every caller spoof its address'
      : 'must be an IP address or a block such as 10.0.0.0/8'
    problems.add(`${key}[${index}]`, what)
  }
  return blocks
}
