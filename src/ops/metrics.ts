// Metrics of this process: requests, database, sign-ins, memory. Decides what is counted and under which of UAA's
// names; does not know where the numbers are sent. Created only if metrics are configured.
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { stopwatch } from '../base/clock.ts'
import type { AuditEventType } from '../model/audit/event.ts'
import type { Instrument } from './instrument.ts'
import { createGroupFinder } from './request-groups.ts'
import type { RequestGroup } from './request-groups.ts'

/** A named number: `count` since the last report, `gauge` for the current value, `timer` for one duration. */
export interface Measurement {
  readonly name: string
  readonly kind: 'count' | 'gauge' | 'timer'
  /** An integer: a number of events, milliseconds, bytes or hundredths. */
  readonly value: number
}

/** The numbers of one process. */
export interface Metrics extends Instrument {
  readonly countQuery: (milliseconds: number) => void
  /** All measurements; resets the counts. */
  report(): readonly Measurement[]
}

const SLOW_QUERY_MILLISECONDS = 3000

/** Gauges of the audit trail, by the event that increments them. */
const AUDITED: Readonly<Partial<Record<AuditEventType, string>>> = {
  UserAuthenticationSuccess: 'user_authentication_count',
  UserAuthenticationFailure: 'user_authentication_failure_count',
  UserNotFound: 'user_not_found_count',
  PasswordChangeSuccess: 'user_password_changes',
  PasswordChangeFailure: 'user_password_failures',
  ClientAuthenticationSuccess: 'client_authentication_count',
  ClientAuthenticationFailure: 'client_authentication_failure_count',
  PrincipalAuthenticationFailure: 'principal_authentication_failure_count',
}

/** Events that UAA does not have: absent until one happens. */
const AUDITED_HERE: typeof AUDITED = {
  MfaAuthenticationSuccess: 'mfa_authentication_count',
  MfaAuthenticationFailure: 'mfa_authentication_failure_count',
}

/** `onLatency` is called for every request. */
export function createMetrics({
  basePath,
  onLatency,
}: {
  basePath: string
  onLatency?: ((latency: Measurement) => void) | undefined
}): Metrics {
  const groupOf = createGroupFinder(basePath)
  const completed = createTally()
  const unhealthy = createTally()
  const queries = createTally()
  const slowQueries = createTally()
  const groups = new Map<string, Tally>()
  const statuses = [0, 0, 0, 0, 0]
  const audited = new Map(Object.values(AUDITED).map(name => [name, 0]))
  const uptime = stopwatch()
  const load = createLoadMeter()
  let inflight = 0
  let idleBefore = 0
  let idle: (() => number) | undefined = stopwatch()

  function begin(): void {
    inflight += 1
    idleBefore += idle?.() ?? 0
    idle = undefined
  }

  function end(group: RequestGroup, status: number, milliseconds: number): void {
    inflight -= 1
    if (inflight === 0) idle = stopwatch()
    completed.add(milliseconds)
    if (milliseconds > group.limitMilliseconds) unhealthy.add(milliseconds)
    const tally = groups.get(group.name) ?? createTally()
    groups.set(group.name, tally)
    tally.add(milliseconds)
    const index = Math.floor(status / 100) - 1
    const count = statuses[index]
    if (count !== undefined) statuses[index] = count + 1
    onLatency?.({ name: `requests.${group.name}.latency`, kind: 'timer', value: Math.round(milliseconds) })
  }

  /** `close` is emitted for every response, even if the client has disconnected. */
  function onRequest({ routeOptions }: FastifyRequest, { raw }: FastifyReply, done: () => void): void {
    begin()
    const elapsed = stopwatch()
    raw.once('close', () => {
      const status = raw.headersSent ? raw.statusCode : 0 // no status was sent
      end(groupOf(routeOptions.url, routeOptions.config.audience), status, elapsed())
    })
    done()
  }

  return {
    watch: http => void http.addHook('onRequest', onRequest),
    counted: audit => event => {
      const name = AUDITED[event.type] ?? AUDITED_HERE[event.type]
      if (name !== undefined) audited.set(name, (audited.get(name) ?? 0) + 1)
      audit(event)
    },
    countQuery(milliseconds) {
      queries.add(milliseconds)
      if (milliseconds > SLOW_QUERY_MILLISECONDS) slowQueries.add(milliseconds)
    },
    report: () => [
      ...completed.counts('requests.global.completed'),
      ...unhealthy.counts('requests.global.unhealthy'),
      ...statuses.splice(0, statuses.length, 0, 0, 0, 0, 0).map((value, index) => ({
        name: `requests.global.status_${index + 1}xx.count`,
        kind: 'count' as const,
        value,
      })),
      ...[...groups].flatMap(([name, tally]) => tally.gauges(`requests.${name}.completed`)),
      ...queries.counts('database.global.completed'),
      ...slowQueries.counts('database.global.unhealthy'),
      gauge('server.inflight.count', inflight),
      gauge('server.up.time', uptime()),
      gauge('server.idle.time', idleBefore + (idle?.() ?? 0)),
      ...[...audited].map(([name, value]) => gauge(`audit_service.${name}`, value)),
      ...processMetrics(load()),
    ],
  }
}

const gauge = (name: string, value: number): Measurement => ({ name, kind: 'gauge', value: Math.round(value) })

/** Counts events and averages their durations since the last report. */
interface Tally {
  add(milliseconds: number): void
  counts(name: string): readonly Measurement[]
  /** With the total since the start instead of the number since the last report. */
  gauges(name: string): readonly Measurement[]
}

function createTally(): Tally {
  let total = 0
  let fresh = 0
  let milliseconds = 0

  /** Reports no duration if nothing happened. */
  function take(name: string, count: Measurement): readonly Measurement[] {
    const time = fresh === 0 ? [] : [gauge(`${name}.time`, milliseconds / fresh)]
    fresh = 0
    milliseconds = 0
    return [count, ...time]
  }

  return {
    add(duration) {
      total += 1
      fresh += 1
      milliseconds += duration
    },
    counts: name => take(name, { name: `${name}.count`, kind: 'count', value: fresh }),
    gauges: name => take(name, gauge(`${name}.count`, total)),
  }
}

/** The share of one CPU that this process has used since the last call. */
function createLoadMeter(): () => number {
  let before = process.cpuUsage()
  let elapsed = stopwatch()
  return () => {
    const { user, system } = process.cpuUsage(before)
    const share = (user + system) / 1000 / Math.max(1, elapsed())
    before = process.cpuUsage()
    elapsed = stopwatch()
    return share
  }
}

/** Gauges of the machine and this process: the equivalents of UAA's JVM gauges. */
function processMetrics(load: number): readonly Measurement[] {
  // Not `process.memoryUsage`, which throws while the process has no file descriptor left.
  const { total_heap_size: committed, used_heap_size: used, heap_size_limit: max } = getHeapStatistics()
  const [minute = 0] = loadavg()
  return [
    gauge('vitals.vm.cpu.count', availableParallelism()),
    gauge('vitals.vm.cpu.load', minute * 100),
    gauge('vitals.vm.memory.total', totalmem()),
    gauge('vitals.vm.memory.free', freemem()),
    gauge('vitals.jvm.cpu.load', load * 100),
    gauge('vitals.jvm.heap.committed', committed),
    gauge('vitals.jvm.heap.used', used),
    gauge('vitals.jvm.heap.max', max),
  ]
}
