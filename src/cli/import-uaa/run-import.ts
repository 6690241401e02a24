import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { createPasswords } from '../../base/passwords.ts'
import { createRandom } from '../../base/random.ts'
import { createVault } from '../../base/secrets.ts'
import { adoptMainZone } from '../../bootstrap.ts'
import { importState, rememberImport } from '../../bootstrap/imported.ts'
import { claimDatabase, fitsDatabase } from '../../bootstrap/vault.ts'
import type { Config } from '../../config.ts'
import { exposedDatabaseHost } from '../../config/sections/database.ts'
import { clientRules } from '../../config/records/records.ts'
import { behaviourOf } from '../../model/compatibility.ts'
import { createUrls } from '../../model/urls.ts'
import { openStore } from '../../store/open.ts'
import { openUaaDatabase } from '../../store/uaa/uaa-database.ts'
import type { UaaDatabase } from '../../store/uaa/uaa-database.ts'
import { importRecords } from '../../uaa/import-records.ts'
import { createReport, refusedIn, summaryOf } from '../../uaa/report.ts'
import type { ImportReport } from '../../uaa/report.ts'
import { isOwnHost } from '../../web/zones/zone.ts'
import { CommandFailure } from '../command.ts'
import type { ImportCall } from './import-uaa.ts'
import { recordOperatorEvent } from '../operator-events.ts'
import { programName } from '../program-name.ts'
import { openStorageToFill } from '../database/storage.ts'
import type { Storage } from '../database/storage.ts'

/** The name of every UAA in its own database: id of the default zone, prefix of scopes, origin of its own accounts. */
const UAA = 'uaa'

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Runs the import and returns the exit status: 0 if everything was imported, or skipped on purpose. */
export async function runImport(config: Config, call: ImportCall): Promise<number> {
  refuseUnfitConfig(config)
  const host = exposedDatabaseHost(call.from)
  if (host !== undefined) {
    process.stderr.write(
      `latchkey: the connection to ${host} is not protected by TLS; add sslmode=verify-full to the URL\n`,
    )
  }
  const source = await openUaaDatabase(call.from, { isAlone: call.applies })
  try {
    return await (call.applies ? apply(config, source, call) : rehearse(config, source))
  } finally {
    await source.close()
  }
}

/** Settings of the file that would replace imported ones at the next start. */
function refuseUnfitConfig({ playground, service, zoneConfig, saml, bootstrap, database }: Config): void {
  if (playground)
    throw new CommandFailure('an import requires the configuration of the new server: name it by --config')
  if (service !== UAA) {
    throw new CommandFailure(
      `the configuration must have \`service: ${UAA}\`: the ids, scopes and origins of a UAA contain that name, and this one has ${service}`,
    )
  }
  const decided = Object.entries({
    zone_config: Object.keys(zoneConfig).length > 0,
    'saml.keys': saml.keys !== undefined,
    'bootstrap.default_groups': bootstrap.defaultGroups !== undefined,
    'bootstrap.identity_providers': bootstrap.identityProviders.some(({ originKey }) => originKey === UAA),
  }).flatMap(([key, isThere]) => (isThere ? [key] : []))
  if (decided.length > 0) {
    throw new CommandFailure(
      `${decided.join(', ')} in the configuration would replace the settings of UAA's default zone: leave it out for the import`,
    )
  }
  if (database === 'sqlite::memory:') throw new CommandFailure('a database in memory belongs to one process')
}

/** The same as `apply`, in a temporary database: every rule is checked, also those of the database. */
async function rehearse(config: Config, source: UaaDatabase): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-import-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const leave = (): void => {
    remove()
    process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, leave)
  try {
    const random = createRandom()
    const vault = createVault(random.bytes(32), random)
    const store = await openStore(`sqlite:${join(folder, 'latchkey.db')}`, { clock: systemClock })
    try {
      const storage = { store, vault, clock: systemClock, random }
      const report = await importInto(storage, config, source)
      const refused = refusedIn(report)
      print(
        refused === 0
          ? `Nothing was written: \`${programName()} import-uaa --apply\` does.`
          : `Nothing was written, and ${refusedText(refused)}: correct that in UAA, or leave it out with --apply --skip-refused.`,
      )
      return refused === 0 ? 0 : 1
    } finally {
      await store.close()
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, leave)
    remove()
  }
}

async function apply(config: Config, source: UaaDatabase, { skipsRefused }: ImportCall): Promise<number> {
  const { service } = config
  const storage = await openStorageToFill(config)
  const { store } = storage
  try {
    await begin(storage, service)
    const report = await importInto(storage, config, source)
    const refused = refusedIn(report)
    if (refused > 0 && !skipsRefused) {
      print(
        `The import has not finished, as ${refusedText(refused)}: correct that in UAA and run this again, or leave it out with --skip-refused. No server starts on this database until then.`,
      )
      return 1
    }
    await adoptMainZone({ ...storage, config })
    await rememberImport(store, service, 'finished')
    const event = { type: 'RecordsImportedEvent', zoneId: service, principal: service } as const
    const data = `import from a UAA: ${summaryOf(report).trim().replaceAll(/ {2,}/g, ' ').replaceAll('\n', '; ')}`
    await recordOperatorEvent({ ...event, data }, 'latchkey import-uaa', { ...storage, config })
    print('The import has finished; the server can start.')
    return 0
  } finally {
    await store.close()
  }
}

const refusedText = (count: number): string =>
  count === 1 ? 'one row is refused' : `${count.toLocaleString('en-US')} rows are refused`

/** Refuses a database with other records, and one that an import has filled: users may have changed since. */
async function begin({ store, vault, clock }: Storage, service: string): Promise<void> {
  const state = await importState(store, service)
  if (state === 'finished')
    throw new CommandFailure('an import has already filled this database; start over with a new one')
  const isUsed = state === undefined && (await store.zones.list({ count: 1 })).length > 0
  if (isUsed) throw new CommandFailure('a server has used this database already: an import needs a new one')
  if ((await fitsDatabase(store, service, vault)) === false) {
    throw new CommandFailure('the master key is not the one that the import was started with')
  }
  await claimDatabase({ store, clock, vault }, service)
  await rememberImport(store, service, 'begun')
}

async function importInto(storage: Storage, config: Config, source: UaaDatabase): Promise<ImportReport> {
  const { baseUrl, compatibility, settings, hashCost, saml } = config
  const urls = createUrls(baseUrl, behaviourOf(compatibility))
  const ownHosts = [urls.hostname, ...settings.internalHostnames]
  const report = createReport(print)
  const isComplete = await importRecords({
    ...storage,
    source,
    passwords: createPasswords({ concurrency: availableParallelism(), cost: hashCost }),
    rules: clientRules(config),
    samlEntityId: saml.entityId,
    isForeignIssuer: (issuer, subdomain) =>
      !urls.addressesOf({ subdomain, address: 'host' }).includes(issuer) &&
      isOwnHost(new URL(issuer).hostname, ownHosts),
    report,
  })
  process.stdout.write(summaryOf(report))
  if (!isComplete) throw new CommandFailure(`the default zone ${UAA} is not there or refused, so nothing else was read`)
  return report
}
