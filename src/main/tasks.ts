// The periodic work of the process that serves alone, or of the primary one: deleting what has expired, notifying
// applications of ended sessions, sending the audit trail to webhooks.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { BackChannel } from '../oauth/logout/back-channel.ts'
import type { AuditTrail } from '../ops/audit/trail.ts'
import type { Log } from '../ops/log.ts'
import type { Management } from '../ops/management.ts'
import { createSharedTasks, expiryTime } from '../ops/shared-tasks.ts'
import type { Store } from '../store/store.ts'

const PURGE_EVERY_MS = 30_000
const AUDIT_RETENTION_EVERY_MS = 60_000
const LOGOUT_DELIVERY_MS = 1000

interface TaskDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly backChannel: () => Promise<BackChannel>
  readonly trail: AuditTrail | undefined
  readonly management: Management | undefined
  readonly log: Log
}

/** Starts all tasks; the result stops them, and resolves when running work is done. */
export async function startTasks(deps: TaskDeps): Promise<() => Promise<void>> {
  const stops = [startDeletion(deps), startLogoutDelivery(deps), await startAuditDelivery(deps)]
  return async () => {
    await Promise.all(stops.map(stop => stop()))
  }
}

/** Deletes expired records, in one of the processes that share the database. */
function startDeletion({ trail, store, clock, random, management, log }: TaskDeps): () => Promise<void> {
  const tasks = createSharedTasks({ leases: store.leases, holder: random.uuid(), log })
  tasks.start({
    name: 'purge',
    everyMilliseconds: PURGE_EVERY_MS,
    step: async () => store.purge(await expiryTime(clock, store)),
  })
  if (trail) {
    tasks.start({
      name: 'audit retention',
      everyMilliseconds: AUDIT_RETENTION_EVERY_MS,
      step: async () => trail.deleteExpired(await expiryTime(clock, store)),
    })
  }
  management?.addTasks(tasks)
  return () => tasks.stop()
}

/** Notifies applications of ended sessions; another process sends the rest when this one stops. */
function startLogoutDelivery({ backChannel, store, management, log }: TaskDeps): () => Promise<void> {
  management?.addLogouts({ totals: async () => (await backChannel()).totals() })
  const running = new Set<Promise<void>>()
  let isLooking = false
  let isStopping = false
  async function deliver(): Promise<void> {
    isLooking = true
    try {
      if (!(await store.endedSessions.isDue(await store.now()))) return
      const channel = await backChannel()
      isLooking = false // sessions that end while others are being delivered do not wait for them
      await channel.deliver(() => isStopping)
    } catch (cause) {
      log.fault('back-channel logout', cause)
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(() => {
    if (isLooking) return
    const delivery = deliver().finally(() => running.delete(delivery))
    running.add(delivery)
  }, LOGOUT_DELIVERY_MS)
  timer.unref()
  return async () => {
    isStopping = true
    clearInterval(timer)
    await Promise.all(running)
  }
}

/** Sends new entries of the audit trail to webhooks. */
async function startAuditDelivery({ trail, management, log }: TaskDeps): Promise<() => Promise<void>> {
  if (!trail?.hasWebhooks) return async () => {}
  management?.addWebhooks({ totals: () => trail.webhookTotals() })
  const { deliverContinuously } = await import('../ops/audit/delivering.ts')
  return deliverContinuously(trail, log)
}
