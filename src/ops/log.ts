// The log: one buffered JSON line per event; on a terminal a readable line at once. Owns the format. Never contains
// secrets.
import { isatty } from 'node:tty'
import { pino, stdSerializers } from 'pino'
import { createIsoNow, systemClock } from '../base/clock.ts'
import type { Audit } from '../model/audit/event.ts'
import { paintTerminal, readableLines } from './terminal.ts'
import { createFaultSummary } from './fault-summary.ts'
import { createLogOutput } from './log-output.ts'
import type { AnsweredRequest, RequestLog } from './request-log.ts'

/** The log as the rest of the server sees it. */
export interface Log {
  /** A message of interest to the operator. */
  readonly info: (message: string) => void
  /** Something the operator should change. */
  readonly warn: (message: string) => void
  /** A server fault with its cause; repeated ones are counted, and the counts logged once a minute. */
  readonly fault: (message: string, cause: unknown) => void
  /** Why a caller was refused, if the answer does not say so. */
  readonly refusal: (message: string) => void
  /** The audit trail. */
  readonly audit: Audit
  readonly request: (answered: AnsweredRequest) => void
  /** Finds the request that a line belongs to; absent if lines do not name it. */
  readonly requests: RequestLog | undefined
  /** Writes buffered lines; call before the process ends. */
  readonly flush: () => void
}

/**
 * Writes lines in blocks of 16 KB, at the latest after a second, so that a line costs no system call. With `requests`,
 * each names the request that it belongs to.
 */
export function createLog(destination: { fd: number } = { fd: 1 }, requests?: RequestLog): Log {
  const isoNow = createIsoNow(systemClock)
  const isTerminal = isatty(destination.fd)
  const { warn: warnLevel } = pino.levels.values
  const stream = createLogOutput(destination.fd, {
    isImmediate: isTerminal,
    reportOf: lines =>
      `{"level":${warnLevel},"time":"${isoNow()}","msg":"${lines} lines of the log could not be written"}\n`,
  })
  const output = isTerminal ? { write: (text: string) => stream.write(readableLines(text, paintTerminal)) } : stream
  const timestamp = (): string => `,"time":"${isoNow()}"`
  const mixin = requests && (() => ({ ...requests.current() }))
  const serializers = { err: serializedError }
  const logger = pino({ base: null, timestamp, serializers, ...(mixin && { mixin }) }, output)
  const audited = createBatch(text => output.write(text), isTerminal ? 0 : BATCH_LENGTH)
  const { info } = logger.levels.values
  const flush = (): void => {
    audited.flush()
    stream.flush()
  }
  setInterval(flush, 1000).unref()
  const faults = createFaultSummary({
    full: (message, cause) => logger.error({ err: cause }, message),
    summary: message => logger.error(message),
  })
  setInterval(() => faults.flush(), 60_000).unref()
  // Formats the line itself: for the frequent token events, pino would cost as much as creating the claims.
  function add(kind: string, line: object, message: string): void {
    const facts = JSON.stringify({ ...line, ...requests?.current() }).slice(1, -1)
    audited.add(`{"level":${info},"time":"${isoNow()}","log":"${kind}",${facts},"msg":"${message}"}\n`)
  }

  return {
    info: message => logger.info(message),
    warn: message => logger.warn(message),
    fault: (message, cause) => faults.note(message, cause),
    refusal: message => logger.info(message),
    audit: event => add('audit', event, event.type),
    request: answered => add('request', answered, 'request'),
    requests,
    flush() {
      faults.flush()
      audited.flush()
      stream.flushSync()
    },
  }
}

/**
 * What an error may have besides message and stack. Errors of libraries bring more: those of PostgreSQL the row that failed, or
 * the connection with its certificates and its key for cancelling.
 */
const ERROR_FACTS = [
  'code',
  'syscall',
  'address',
  'hostname',
  'port',
  'severity',
  'table',
  'constraint',
  'routine',
] as const

function serializedError(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause
  const { type, message, stack } = stdSerializers.err(cause)
  const facts = Object.entries(cause).filter(([name]) => ERROR_FACTS.some(each => each === name))
  // One for each address of a host.
  const errors = cause instanceof AggregateError ? { errors: cause.errors.map(each => String(each)) } : {}
  return { type, message, stack, ...Object.fromEntries(facts), ...errors }
}

const BATCH_LENGTH = 8000

/** Buffers lines, so that one write to the stream covers many. */
function createBatch(write: (text: string) => void, maxLength: number): { add(line: string): void; flush(): void } {
  let waiting = ''
  const flush = (): void => {
    if (waiting === '') return
    write(waiting)
    waiting = ''
  }
  return {
    add(line) {
      waiting += line
      if (waiting.length >= maxLength) flush()
    },
    flush,
  }
}
