// A database from before sign-ins had levels: what a provider called itself is no level now.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import { createTestClock } from '../support/clock.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { administer } from '../support/postgres.ts'
import { signedIn } from './records.ts'

/** Takes the migration back. */
async function makeOld({ url }: TestDatabase): Promise<void> {
  const statements = [
    `alter table users drop column factors`,
    ...['passkeys', 'totp_secrets', 'factor_codes'].map(table => `drop table ${table}`),
    `delete from migrations where id = '0020-second-factors'`,
  ]
  if (!url.startsWith('sqlite:')) return administer(url, ...statements)
  const raw = new DatabaseSync(url.slice('sqlite:'.length))
  for (const statement of statements) raw.exec(statement)
  raw.close()
}

for (const kind of DATABASE_KINDS) {
  describe(`classes of providers in an earlier database, on ${kind}`, () => {
    it('are forgotten where they read like a level, and kept otherwise', async () => {
      const database = await freshDatabase(kind)
      const options = { clock: createTestClock(), onError: assert.ifError }
      const lists = [['1'], ['2', 'urn:gold'], ['phr'], ['phrh'], ['urn:gold', 'phr'], ['urn:gold', '20']] as const
      const first = await openStore(database.url, options)
      for (const acr of lists) {
        const made = signedIn({ idDigest: acr.join(' ') })
        await first.sessions.insert('z1', { ...made, signIn: { ...made.signIn, acr } })
      }
      await first.close()
      await makeOld(database)

      const store = await openStore(database.url, options)
      const kept = await Promise.all(
        lists.map(async acr => (await store.sessions.find('z1', acr.join(' ')))?.signIn?.acr),
      )
      assert.deepEqual(kept, [undefined, undefined, undefined, undefined, undefined, ['urn:gold', '20']])
      await store.close()
    })
  })
}
