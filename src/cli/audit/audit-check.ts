// The work of `latchkey audit verify`.
import { refuseForeignDatabase } from '../../bootstrap.ts'
import type { StorageConfig } from '../../config.ts'
import type { AuditReport } from '../../ops/audit/verify.ts'
import { verifyAuditTrail } from '../../ops/audit/verify.ts'
import type { AuditCheck } from './audit.ts'
import { CommandFailure } from '../command.ts'
import { openStorageBeside } from '../database/storage.ts'

const ZONES_AT_ONCE = 100

/** Checks the trails, and reports the result for each zone; `isIntact` also says that what is expected was compared. */
export async function verifyAll(
  config: StorageConfig,
  { zoneId, expected }: AuditCheck,
): Promise<{ readonly output: string; readonly isIntact: boolean }> {
  const storage = await openStorageBeside(config)
  const { store, vault } = storage
  try {
    await refuseForeignDatabase({ ...storage, config })
    if (zoneId !== undefined && !(await store.zones.find(zoneId)))
      throw new CommandFailure(`there is no zone ${zoneId}`)
    let output = ''
    let isIntact = true
    const check = async (id: string): Promise<void> => {
      const report = await verifyAuditTrail(store.audit, vault, { zoneId: id, expected })
      output += linesOf(id, report)
      isIntact &&= report.problems.length === 0 && !report.isExpectedGone
    }
    if (zoneId !== undefined) await check(zoneId)
    else {
      let page: readonly string[] = []
      do {
        page = await store.audit.listZones({ count: ZONES_AT_ONCE, after: page.at(-1) })
        for (const id of page) await check(id)
      } while (page.length > 0)
    }
    return { output, isIntact }
  } finally {
    await store.close()
  }
}

function linesOf(zoneId: string, { first, head, isExpectedGone, problems }: AuditReport): string {
  const what = !head || first === undefined ? 'no entries' : `entries ${first} to ${head.number}`
  const lines = [
    `${zoneId}: ${problems.length > 0 ? 'ALTERED' : 'intact'}, ${what}`,
    ...(head ? [`  head ${head.number}:${head.hash}`] : []),
    ...(isExpectedGone
      ? ['  retention has deleted the expected entry, which was not compared: expect a newer one']
      : []),
    ...problems.map(problem => `  ${problem}`),
  ]
  return lines.map(line => `${line.replace(/[^\x20-\x7e]/g, '?')}\n`).join('') // facts may have anything
}
