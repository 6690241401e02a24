import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { createAccounts } from '../../src/identity/accounts.ts'
import type { Accounts } from '../../src/identity/accounts.ts'
import type { ExternalPerson } from '../../src/identity/source.ts'
import type { IdentityProvider } from '../../src/model/identity-provider.ts'
import type { User } from '../../src/model/user.ts'
import type { Zone } from '../../src/model/zone.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { createTestClock } from '../support/clock.ts'
import * as records from '../store/records.ts'

const clock = createTestClock()
const NOT_PRECREATED = 'The user account must be pre-created. Please contact your system administrator.'
const NAME_TAKEN = 'Unable to register user in internal UAA store.'

describe('createAccounts', () => {
  let store: Store
  let accounts: Accounts
  let zone: Zone
  let count = 0
  before(async () => {
    store = await openStore('sqlite::memory:', { clock, onError: assert.ifError })
    accounts = createAccounts({ store, clock, random: createRandom() })
  })
  after(() => store.close())
  beforeEach(async () => {
    count += 1
    zone = records.zone({ id: `zone-${count}`, subdomain: `zone-${count}` })
    await store.zones.insert(zone)
  })

  const provider = (config: Readonly<Record<string, unknown>> = {}, originKey = 'corp'): IdentityProvider => ({
    zoneId: zone.id,
    id: 'p1',
    originKey,
    type: 'oidc1.0',
    name: 'Corp',
    active: true,
    config,
    version: 0,
    createdAt: clock.now(),
    updatedAt: clock.now(),
  })
  const pat: ExternalPerson = { userName: 'pat', externalId: 'sub-1', email: 'pat@corp.example', amr: ['ext'] }

  async function enter(person: Partial<ExternalPerson> = {}, at = provider()): Promise<User> {
    const entry = await accounts.enter(zone, at, { ...pat, ...person })
    assert.equal(entry.outcome, 'entered', JSON.stringify(entry))
    return entry.user
  }
  async function refusedTo(person: Partial<ExternalPerson>, at = provider()): Promise<string> {
    const entry = await accounts.enter(zone, at, { ...pat, ...person })
    assert.equal(entry.outcome, 'refused')
    assert.equal(entry.reason, 'unusable')
    return entry.description
  }
  const precreated = (more: Partial<User> = {}): Promise<void> =>
    store.users.insert(zone.id, records.user({ zoneId: zone.id, origin: 'corp', userName: 'pat', ...more }))

  it('makes an account without a password on the first visit, and finds it on the second, in any case', async () => {
    const made = await enter({ givenName: 'Pat', familyName: 'Doe', phoneNumber: '+1 2' })
    assert.deepEqual(await store.users.find(zone.id, made.id), made)
    const { givenName, familyName, phoneNumber, origin, verified, active } = made
    assert.deepEqual(
      { givenName, familyName, phoneNumber, origin, verified, active },
      { givenName: 'Pat', familyName: 'Doe', phoneNumber: '+1 2', origin: 'corp', verified: false, active: true },
    )
    assert.equal(made.passwordHash, undefined)
    assert.equal(made.passwordRevision.length, 22)
    assert.deepEqual(await enter({ userName: 'PAT' }), made)
  })

  it('makes one account for two visits at once', async () => {
    const [one, two] = await Promise.all([enter(), enter()])
    assert.equal(one.id, two.id)
  })

  it('never enters an account of another origin, whatever its name and address', async () => {
    await precreated({ id: 'internal', origin: 'svc', email: 'pat@corp.example' })
    await precreated({ id: 'other', origin: 'rival', email: 'pat@corp.example' })
    const made = await enter()
    assert.ok(!['internal', 'other'].includes(made.id))
  })

  it('never enters an account of another zone', async () => {
    const here = await enter()
    const elsewhere = records.zone({ id: `${zone.id}-b`, subdomain: `${zone.id}-b` })
    await store.zones.insert(elsewhere)
    const entry = await accounts.enter(elsewhere, provider(), pat)
    assert.equal(entry.outcome, 'entered')
    assert.notEqual(entry.user.id, here.id)
  })

  const updates: readonly { name: string; change: Partial<ExternalPerson>; want: Partial<User> }[] = [
    { name: 'a given name', change: { givenName: 'Patricia' }, want: { givenName: 'Patricia' } },
    { name: 'a family name', change: { familyName: 'Roe' }, want: { familyName: 'Roe' } },
    { name: 'a phone number', change: { phoneNumber: '+9' }, want: { phoneNumber: '+9' } },
    { name: 'an address', change: { email: 'p@corp.example' }, want: { email: 'p@corp.example' } },
    { name: 'an external id', change: { externalId: 'sub-2' }, want: { externalId: 'sub-2' } },
    { name: 'a verified address', change: { emailVerified: true }, want: { verified: true } },
    {
      name: 'the spelling of the user name along with the rest',
      change: { userName: 'Pat', givenName: 'P' },
      want: { userName: 'Pat', givenName: 'P' },
    },
  ]
  for (const { name, change, want } of updates) {
    it(`takes over ${name}`, async () => {
      const before = await enter({ givenName: 'Pat', familyName: 'Doe', phoneNumber: '+1 2' })
      clock.advance(10)
      const after = await enter(change)
      assert.deepEqual(after, { ...before, ...want, version: before.version + 1, updatedAt: clock.now() })
      assert.deepEqual(await store.users.find(zone.id, before.id), after)
    })
  }

  const unchanged: readonly { name: string; change: Partial<ExternalPerson> }[] = [
    { name: 'nothing changed', change: {} },
    { name: 'only the spelling of the user name did', change: { userName: 'Pat' } },
    { name: 'the provider says less than before', change: { email: undefined, externalId: undefined } as never },
    { name: 'the address is doubted that was verified before', change: { emailVerified: false } },
  ]
  for (const { name, change } of unchanged) {
    it(`writes nothing when ${name}`, async () => {
      const before = await enter({ emailVerified: true, givenName: 'Pat' })
      clock.advance(10)
      assert.deepEqual(await enter(change), before)
      assert.deepEqual(await store.users.find(zone.id, before.id), before)
    })
  }

  const addresses = [
    { name: 'the one that the provider tells', userName: 'pat', email: 'x@y.example', want: 'x@y.example' },
    { name: 'the user name when it is one', userName: 'pat@home.example', want: 'pat@home.example' },
    { name: 'one made up for a plain user name', userName: 'pat', want: 'pat@user.from.corp.cf' },
    { name: 'one made up for a user name with two @', userName: 'a@b@c', want: 'abc@user.from.corp.cf' },
    { name: 'one made up for a user name that begins with @', userName: '@pat', want: 'pat@user.from.corp.cf' },
    { name: 'one made up for a user name that ends with @', userName: 'pat@', want: 'pat@user.from.corp.cf' },
  ]
  for (const { name, userName, email, want } of addresses) {
    it(`gives an account the address: ${name}`, async () => {
      const person: ExternalPerson = { userName, amr: [], ...(email !== undefined && { email }) }
      const entry = await accounts.enter(zone, provider(), person)
      assert.equal(entry.outcome, 'entered')
      assert.equal(entry.user.email, want)
    })
  }

  it('finds an account that was made before by its address, without case, and renames it', async () => {
    await precreated({ id: 'before', userName: 'Pat.Doe', email: 'Pat@Corp.example' })
    const user = await enter({}, provider({ addShadowUserOnLogin: false }))
    assert.deepEqual([user.id, user.userName, user.email], ['before', 'pat', 'pat@corp.example'])
    assert.equal((await enter()).id, 'before')
  })

  it('finds it by a user name that is its address', async () => {
    await precreated({ id: 'before', userName: 'x', email: 'pat@corp.example' })
    const { email: _, ...withoutEmail } = pat
    const entry = await accounts.enter(zone, provider(), { ...withoutEmail, userName: 'pat@corp.example' })
    assert.equal(entry.outcome, 'entered')
    assert.equal(entry.user.id, 'before')
  })

  it('does not open an account for an address that the provider does not vouch for', async () => {
    await precreated({ id: 'victim', userName: 'victim', email: 'pat@corp.example' })
    assert.notEqual((await enter({ emailVerified: false })).id, 'victim')
  })

  it('does not look for an address that it made up', async () => {
    await precreated({ id: 'victim', userName: 'abc', email: 'abc@user.from.corp.cf' })
    const entry = await accounts.enter(zone, provider(), { userName: 'a@b@c', amr: [] })
    assert.equal(entry.outcome, 'entered')
    assert.notEqual(entry.user.id, 'victim')
  })

  it('refuses an address of two accounts, and passes over those that are inactive', async () => {
    await precreated({ id: 'one', userName: 'one', email: 'pat@corp.example' })
    await precreated({ id: 'two', userName: 'two', email: 'PAT@corp.example' })
    assert.match(await refusedTo({}), /^Several accounts/)
    const two = await store.users.find(zone.id, 'two')
    assert.ok(two)
    await store.users.update(zone.id, { ...two, active: false })
    assert.equal((await enter()).id, 'one')
  })

  it('makes no account where the provider has people added by hand', async () => {
    const closed = provider({ addShadowUserOnLogin: false })
    assert.equal(await refusedTo({}, closed), NOT_PRECREATED)
    assert.equal(await store.users.findByName(zone.id, 'corp', 'pat'), undefined)
    await precreated()
    assert.equal((await enter({}, closed)).userName, 'pat')
  })

  it('takes only `false` for an answer, so that a setting of another type changes nothing', async () => {
    for (const [index, value] of [undefined, null, 'false', 0, true].entries()) {
      await enter({ userName: `u${index}`, email: `u${index}@x.example` }, provider({ addShadowUserOnLogin: value }))
    }
  })

  it('refuses somebody whose account was deactivated, and does not let the address in by the back door', async () => {
    await precreated({ id: 'gone', active: false, email: 'pat@corp.example' })
    await precreated({ id: 'other', userName: 'other', email: 'pat@corp.example' })
    assert.equal(await refusedTo({}), NAME_TAKEN)
    assert.equal(await refusedTo({}, provider({ addShadowUserOnLogin: false })), NOT_PRECREATED)
  })
})
