// Limits that hold across all processes on one database. A process counts locally first, and reports what it has counted
// only when that is a noticeable part of the limit: one user, or an address with few failures, costs no statement. Until
// the report is answered the request waits, so that a process never lets through more than `unreportedOf` without asking.
// While the database is unreachable, each process continues with the counts that it has, and counts locally.
import { isWithin } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { LatestMap } from '../../base/latest-map.ts'
import type { Vault } from '../../base/secrets.ts'
import { CLOCKS_AGREE_WITHIN_MS } from '../../store/rate-count-store.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { Store } from '../../store/store.ts'
import { TooManyRequests } from './too-many-requests.ts'

/** At most `max` counts for each key in a window of `seconds`, which begins with the first count. */
export interface Allowance {
  readonly max: number
  readonly seconds: number
  /** Keys that a process remembers, and that it reports in the time of a window; 10,000 unless given. */
  readonly keys?: number
}

/** A counted attempt. */
export interface Taken {
  /** Undoes the count. */
  release(): void
}

/** Counts by key in fixed windows. */
export interface SharedLimit {
  /** Counts one. Throws `TooManyRequests` while the key's window is full. */
  take(key: string): Promise<Taken>
  /** Counts an attempt when it begins, so that parallel attempts cannot pass the limit, and gives it back unless it failed. */
  attempt<T>(key: string, work: () => Promise<T>, hasFailed: (result: T) => boolean): Promise<T>
  /** Throws while the key's window is full as far as this process knows; counts nothing, and makes the key only if it needs it. */
  check(key: () => string): void
}

/** Opens limits. */
interface SharedLimits {
  open(name: string, allowance: Allowance): SharedLimit
  /** Reports undone counts now, instead of some time later. */
  flush(): Promise<void>
}

/** Dependencies of `createSharedLimits`. */
export interface SharedLimitDeps {
  readonly clock: Clock
  readonly store: { readonly rateCounts: Store['rateCounts'] }
  readonly vault: Pick<Vault, 'keyedDigest'>
  /** Called for each refusal with the name of the limit. */
  readonly onRefusal?: ((name: string) => void) | undefined
  /** Receives faults of the database other than that it is unreachable. */
  readonly onError: (cause: unknown) => void
}

/** The unreported count that a process may have of a key, plus one: a twentieth of the limit. */
export const unreportedOf = ({ max }: Allowance): number => Math.max(1, Math.floor(max / 20))

/** Beyond it the oldest window is dropped, and further keys are not reported: callers must fill neither memory nor table. */
const DEFAULT_MAX_KEYS = 10_000
/** How long after a failure requests do not wait for the database. */
const PAUSE_SECONDS = 1
/** How often a full window is read again: other processes may have undone counts. */
const RECHECK_MS = 1000
const GIVE_BACK_MS = 250

interface Window {
  readonly limit: string
  readonly key: string
  beganAt: number
  endsAt: number
  /** Counted by all processes at the last report. */
  known: number
  /** Counted here since then, and given back. */
  added: number
  returned: number
  /** When the count of the other processes was read. */
  checkedAt: number
  isShared: boolean
}

/** False also for a window that began in the future, because the clock was set back. */
const isOpen = ({ beganAt, endsAt }: Window, now: number): boolean =>
  now < endsAt && beganAt <= now + CLOCKS_AGREE_WITHIN_MS

/** One instance for each process. */
export function createSharedLimits(deps: SharedLimitDeps): SharedLimits {
  const reports = createReports(deps)
  return {
    open: (name, allowance) => createSharedLimit({ ...deps, name, reports }, allowance),
    flush: () => reports.flush(),
  }
}

type LimitDeps = SharedLimitDeps & { readonly name: string; readonly reports: Reports }

function createSharedLimit({ name, clock, reports, onRefusal }: LimitDeps, allowance: Allowance): SharedLimit {
  const { max } = allowance
  const unreported = unreportedOf(allowance)
  const time = (): number => clock.now().getTime()
  const windows = createWindows(name, allowance, clock)

  const isFull = ({ known, added, returned }: Window): boolean => known + added - returned >= max

  function refuse({ endsAt }: Window): never {
    onRefusal?.(name)
    throw new TooManyRequests(Math.max(1, Math.ceil((endsAt - time()) / 1000)))
  }

  async function take(key: string): Promise<Taken> {
    const window = windows.of(key)
    if (isFull(window) && window.isShared && time() >= window.checkedAt + RECHECK_MS) await reports.report(window)
    if (isFull(window)) refuse(window)
    window.added += 1
    if (window.added - window.returned >= unreported && windows.share(window)) {
      await reports.report(window)
      // Counts that were added meanwhile are checked by their own report.
      if (window.known - window.returned > max) {
        release(window)
        refuse(window)
      }
    }
    let isTaken = true
    return {
      release() {
        if (isTaken) release(window)
        isTaken = false
      },
    }
  }

  function release(window: Window): void {
    window.returned += 1
    if (window.returned > window.added) reports.reportLater(window)
  }

  return {
    take,
    async attempt(key, work, hasFailed) {
      const taken = await take(key)
      let isCounted = false
      try {
        const result = await work()
        isCounted = hasFailed(result)
        return result
      } finally {
        if (!isCounted) taken.release()
      }
    },
    check(key) {
      if (windows.areOver()) return
      const window = windows.find(key())
      if (window && isFull(window)) refuse(window)
    },
  }
}

/** The windows of one limit by key: a bounded number, of which only some are shared with other processes. */
function createWindows(limit: string, { seconds, keys = DEFAULT_MAX_KEYS }: Allowance, clock: Clock) {
  const time = (): number => clock.now().getTime()
  const windows = new LatestMap<Window>(keys)
  let latestEnd = 0
  let shared: { readonly since: Date; count: number } | undefined

  function find(key: string): Window | undefined {
    const window = windows.get(key)
    return window && isOpen(window, time()) ? window : undefined
  }

  function open(key: string): Window {
    const now = time()
    const endsAt = now + seconds * 1000
    const counts = { known: 0, added: 0, returned: 0 }
    const opened = { limit, key, beganAt: now, endsAt, ...counts, checkedAt: now, isShared: false }
    windows.set(key, opened)
    latestEnd = Math.max(latestEnd, endsAt)
    return opened
  }

  return {
    find,
    of: (key: string): Window => find(key) ?? open(key),
    /** Whether the window has, or may have, a row. */
    share(window: Window): boolean {
      if (window.isShared) return true
      const now = clock.now()
      if (!shared || !isWithin(seconds, shared.since, now)) shared = { since: now, count: 0 }
      if (shared.count >= keys) return false
      shared.count += 1
      window.isShared = true
      return true
    },
    /** Whether no window is open; forgets them then. */
    areOver(): boolean {
      if (windows.size > 0 && time() >= latestEnd + CLOCKS_AGREE_WITHIN_MS) windows.clear()
      return windows.size === 0
    },
  }
}

/** Brings the counts of windows to the database. */
interface Reports {
  /** Resolves when the count of all processes is known, or the database is unavailable. */
  report(window: Window): Promise<void>
  /** For counts that were given back: they are reported together, a moment later. */
  reportLater(window: Window): void
  flush(): Promise<void>
}

/** Reports windows, one batch at a time; each batch has everything that was added during the one before. */
function createReports({ clock, store, vault, onError }: SharedLimitDeps): Reports {
  const pendingReturns = new Set<Window>()
  let timer: NodeJS.Timeout | undefined
  let running = Promise.resolve()
  let next: { readonly windows: Set<Window>; readonly done: Promise<void> } | undefined
  let failedAt: Date | undefined

  async function send(batch: ReadonlySet<Window>): Promise<void> {
    const now = clock.now()
    // One for each key: a waiting window may have been evicted, and its key may have a new window.
    const open = [...batch].filter(window => isOpen(window, now.getTime()))
    const windows = [...new Map(open.map(window => [`${window.limit} ${window.key}`, window])).values()]
    const sent = windows.map(window => ({ window, added: window.added, returned: window.returned }))
    for (const window of windows) window.checkedAt = now.getTime()
    try {
      const rows = sent.map(({ window: { limit, key, beganAt, endsAt }, added, returned }) => {
        return { key: vault.keyedDigest(`limit ${limit} ${key}`), added: added - returned, beganAt, endsAt }
      })
      const counts = await store.rateCounts.add(rows, now)
      for (const [index, { window, added, returned }] of sent.entries()) {
        const { total, beganAt, endsAt } = counts[index] ?? { ...window, total: window.known }
        Object.assign(window, { known: total, beganAt, endsAt })
        window.added -= added
        window.returned -= returned
      }
    } catch (cause) {
      failedAt = now
      for (const window of windows) if (window.returned > window.added) reportLater(window)
      if (!(cause instanceof StoreUnavailable)) onError(cause)
    }
  }

  function report(window: Window): Promise<void> {
    if (isWithin(PAUSE_SECONDS, failedAt, clock.now())) {
      if (window.returned > window.added) reportLater(window)
      return Promise.resolve()
    }
    pendingReturns.delete(window)
    if (!next) {
      const windows = new Set<Window>()
      const done = running.then(() => {
        next = undefined
        return send(windows)
      })
      running = done
      next = { windows, done }
    }
    next.windows.add(window)
    return next.done
  }

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const due = [...pendingReturns].filter(({ added, returned }) => returned > added)
    pendingReturns.clear() // before anything is waited for: what is given back meanwhile has its own turn
    await Promise.all(due.map(report))
  }

  function reportLater(window: Window): void {
    pendingReturns.add(window)
    timer ??= setTimeout(() => void flush(), GIVE_BACK_MS).unref()
  }

  return { report, flush, reportLater }
}
