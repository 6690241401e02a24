import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { createAccounts } from '../../src/identity/accounts.ts'
import type { ExternalUserWithRoles } from '../../src/identity/account-details.ts'
import type { Accounts } from '../../src/identity/accounts.ts'
import type { ExternalUser } from '../../src/identity/source.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import type { IdentityProvider } from '../../src/model/zones/identity-provider.ts'
import type { User } from '../../src/model/users/user.ts'
import type { Zone } from '../../src/model/zones/zone.ts'
import { createAliases } from '../../src/users/aliases.ts'
import { checkLengths } from '../../src/users/rules.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreBusy } from '../../src/store/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createTestClock } from '../support/clock.ts'
import * as records from '../store/records.ts'

const clock = createTestClock()
const NOT_PRECREATED = 'The user account must be pre-created. Please contact your system administrator.'
const NAME_TAKEN = 'Unable to register user in internal UAA store.'

describe('createAccounts', () => {
  let store: Store
  let accounts: Accounts
  const accountsIn = (mode: CompatibilityMode): Accounts =>
    createAccounts({ store, clock, random: createRandom(), behaviour: behaviourOf(mode) })
  let zone: Zone
  let count = 0
  before(async () => {
    store = await openStore('sqlite::memory:', { clock, onError: assert.ifError })
    accounts = accountsIn('standard')
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
  const pat: ExternalUser = { userName: 'pat', externalId: 'sub-1', email: 'pat@corp.example', amr: ['ext'] }

  async function enter(external: Partial<ExternalUserWithRoles> = {}, at = provider()): Promise<User> {
    const entry = await accounts.enter(zone, at, { ...pat, ...external })
    assert.equal(entry.outcome, 'entered', JSON.stringify(entry))
    return entry.user
  }
  async function refusedTo(external: Partial<ExternalUser>, at = provider()): Promise<string> {
    const entry = await accounts.enter(zone, at, { ...pat, ...external })
    assert.equal(entry.outcome, 'refused')
    assert.notEqual(entry.reason, 'untrusted')
    return entry.description
  }
  const precreated = (more: Partial<User> = {}): Promise<void> =>
    store.users.insert(zone.id, records.user({ zoneId: zone.id, origin: 'corp', userName: 'pat', ...more }))

  it('updates the alias of a changed account in another zone if aliases are enabled', async () => {
    for (const aliasEntities of [true, false]) {
      const other = `${zone.id}-${String(aliasEntities)}`
      const sub = `sub-${String(aliasEntities)}`
      const pair = { origin: 'corp', userName: sub, externalId: sub, email: 'old@corp.example' }
      const here = records.user({ ...pair, zoneId: zone.id, id: `${sub}-here`, aliasId: 'there', aliasZoneId: other })
      const there = records.user({ ...pair, zoneId: other, id: 'there', aliasId: here.id, aliasZoneId: zone.id })
      await store.users.insert(zone.id, here)
      await store.users.insert(other, there)
      const random = createRandom()
      const aliases = createAliases({ store, random, service: { name: zone.id }, settings: { aliasEntities } })
      const following = createAccounts({ store, clock, random, behaviour: behaviourOf('standard'), aliases })
      await following.enter(zone, provider(), { ...pat, userName: sub, externalId: sub })
      const copy = await store.users.find(other, 'there')
      assert.equal(copy?.email, aliasEntities ? 'pat@corp.example' : 'old@corp.example')
    }
  })

  it('updates at the next sign-in an alias that could not be updated, and only then', async t => {
    const other = `${zone.id}-late`
    const pair = { origin: 'corp', userName: 'sub-1', externalId: 'sub-1', email: 'old@corp.example' }
    const here = records.user({ ...pair, zoneId: zone.id, id: `${zone.id}-here`, aliasId: 'late', aliasZoneId: other })
    await store.users.insert(zone.id, here)
    const there = records.user({ ...pair, zoneId: other, id: 'late', aliasId: here.id, aliasZoneId: zone.id })
    await store.users.insert(other, there)
    const random = createRandom()
    const aliases = createAliases({ store, random, service: { name: zone.id }, settings: { aliasEntities: true } })
    const following = createAccounts({ store, clock, random, behaviour: behaviourOf('standard'), aliases })
    const signIn = () => following.enter(zone, provider(), { ...pat, userName: 'sub-1' })
    const { mock } = t.mock.method(store.users, 'replace')
    mock.mockImplementationOnce(() => Promise.reject(new StoreBusy('busy')))
    await assert.rejects(signIn(), StoreBusy)
    for (let time = 0; time < 2; time += 1) assert.equal((await signIn()).outcome, 'entered')
    assert.equal((await store.users.find(other, 'late'))?.email, 'pat@corp.example')
    assert.equal(mock.callCount(), 2)
  })

  it('links the alias of a pre-created account, and ends its sessions', async () => {
    const other = `${zone.id}-linked`
    const pair = { origin: 'corp', userName: 'sub-1', email: 'old@corp.example' }
    const here = records.user({
      ...pair,
      zoneId: zone.id,
      id: `${zone.id}-here`,
      aliasId: 'linked',
      aliasZoneId: other,
    })
    const there = records.user({ ...pair, zoneId: other, id: 'linked', aliasId: here.id, aliasZoneId: zone.id })
    await store.users.insert(zone.id, here)
    await store.users.insert(other, there)
    const settings = { aliasEntities: true }
    const aliases = createAliases({ store, random: createRandom(), service: { name: zone.id }, settings })
    const following = createAccounts({ store, clock, random: createRandom(), behaviour: behaviourOf('uaa'), aliases })
    await following.enter(zone, provider(), { ...pat, userName: 'sub-1', externalId: 'sub-1' })
    const copy = await store.users.find(other, 'linked')
    assert.deepEqual([copy?.externalId, copy?.email], ['sub-1', 'pat@corp.example'])
    assert.notEqual(copy?.passwordRevision, there.passwordRevision)
  })

  it('keeps an alias inactive that was deactivated during the sign-in', async () => {
    const other = `${zone.id}-other`
    const pair = { origin: 'corp', userName: 'pat', externalId: 'sub-1', active: false }
    const here = records.user({ ...pair, zoneId: zone.id, id: `${zone.id}-here`, aliasId: 'copy', aliasZoneId: other })
    await store.users.insert(zone.id, here)
    await store.users.insert(
      other,
      records.user({ ...pair, zoneId: other, id: 'copy', aliasId: here.id, aliasZoneId: zone.id }),
    )
    const settings = { aliasEntities: true }
    const aliases = createAliases({ store, random: createRandom(), service: { name: zone.id }, settings })
    await aliases.follow({ ...here, active: true, email: 'new@corp.example' }) // as read before the deactivation
    const copy = await store.users.find(other, 'copy')
    assert.deepEqual([copy?.active, copy?.email], [false, 'new@corp.example'])
  })

  it('enforces maxUsers of the zone, even concurrently, and still finds existing accounts', async () => {
    const small = { ...zone, config: { ...zone.config, userConfig: { maxUsers: 2 } } }
    const as = (sub: string) => accounts.enter(small, provider(), { ...pat, userName: sub, externalId: sub })
    assert.equal((await as('first')).outcome, 'entered')
    const outcomes = (await Promise.all(['a', 'b', 'c'].map(as))).map(({ outcome }) => outcome)
    assert.deepEqual(outcomes.toSorted(), ['entered', 'refused', 'refused'])
    assert.equal(await store.users.count(zone.id), 2)
    assert.equal((await as('first')).outcome, 'entered')
  })

  // Covers shadow users: found by user name and origin; created
  it('creates an account without a password, and finds it again by the external id', async () => {
    const made = await enter({ givenName: 'Pat', familyName: 'Doe', phoneNumber: '+1 2' })
    assert.deepEqual(await store.users.find(zone.id, made.id), made)
    const { givenName, familyName, phoneNumber, origin, externalId, verified, active } = made
    assert.deepEqual(
      { givenName, familyName, phoneNumber, origin, externalId, verified, active },
      {
        givenName: 'Pat',
        familyName: 'Doe',
        phoneNumber: '+1 2',
        origin: 'corp',
        externalId: 'sub-1',
        verified: false,
        active: true,
      },
    )
    assert.equal(made.passwordHash, undefined)
    assert.equal(made.passwordRevision.length, 22)
    assert.deepEqual(await enter({ userName: 'PAT' }), made)
    assert.deepEqual(await enter({ userName: 'another name' }), made)
  })

  it('creates one account for concurrent sign-ins with different names', async () => {
    const names = ['pat', 'PAT', 'p', 'pat', 'q']
    const ids = (await Promise.all(names.map(userName => enter({ userName })))).map(({ id }) => id)
    assert.equal(new Set(ids).size, 1)
  })

  it('never uses an account of another origin with the same name, id or email address', async () => {
    await precreated({ id: 'internal', origin: 'svc', email: 'pat@corp.example' })
    await precreated({ id: 'other', origin: 'rival', email: 'pat@corp.example' })
    await precreated({ id: 'same', origin: 'third', externalId: 'sub-1' })
    const made = await enter({ emailVerified: true }, provider({ linkByEmail: true }))
    assert.ok(!['internal', 'other', 'same'].includes(made.id))
  })

  it('never uses an account of another zone', async () => {
    const here = await enter()
    const elsewhere = records.zone({ id: `${zone.id}-b`, subdomain: `${zone.id}-b` })
    await store.zones.insert(elsewhere)
    const entry = await accounts.enter(elsewhere, provider(), pat)
    assert.equal(entry.outcome, 'entered')
    assert.notEqual(entry.user.id, here.id)
  })

  const others: readonly { name: string; external: Partial<ExternalUser> }[] = [
    { name: 'the same name', external: { externalId: 'sub-2' } },
    { name: 'the same email address', external: { externalId: 'sub-2', userName: 'x', emailVerified: true } },
    { name: 'the external id in capitals', external: { externalId: 'SUB-1' } },
    { name: 'an external id that only Unicode folds to it', external: { externalId: '\u017fub-1', userName: 'SUB-1' } },
    { name: 'the external id with a blank', external: { externalId: 'sub-1 ', userName: 'sub-1 ' } },
    { name: 'the external id as a name', external: { externalId: 'x', userName: 'sub-1' } },
  ]
  for (const mode of ['standard', 'uaa'] as const) {
    for (const { name, external } of others) {
      it(`creates another account for a user with ${name} in ${mode}`, async () => {
        const entered = async (who: Partial<ExternalUser>): Promise<User> => {
          const at = provider({ linkByEmail: true })
          const entry = await accountsIn(mode).enter(zone, at, { ...pat, ...who })
          assert.equal(entry.outcome, 'entered', JSON.stringify(entry))
          return entry.user
        }
        const mine = await entered({ emailVerified: true })
        const theirs = await entered(external)
        assert.notEqual(theirs.id, mine.id)
        assert.deepEqual(await store.users.find(zone.id, mine.id), mine)
        assert.equal((await entered(external)).id, theirs.id)
      })
    }
  }

  it('adds a suffix to a taken user name, and ignores a rename to one', async () => {
    const first = await enter()
    const second = await enter({ externalId: 'sub-2' })
    assert.match(second.userName, /^pat-[\w-]{8}$/)
    assert.equal((await enter({ externalId: 'sub-2', givenName: 'P' })).userName, second.userName)
    assert.equal((await enter({ externalId: 'sub-3', userName: 'q' })).userName, 'q')
    const renamed = await enter({ externalId: 'sub-3', userName: 'PAT', givenName: 'Q' })
    assert.deepEqual([renamed.userName, renamed.givenName], ['q', 'Q'])
    assert.equal((await enter()).id, first.id)
  })

  it('creates no account with a longer name or address than the APIs accept', async () => {
    const userName = `${'n'.repeat(239)}${'😀'.repeat(8)}`
    for (const externalId of ['long-1', 'long-2']) {
      const entry = await accounts.enter(zone, provider(), { userName, externalId, amr: ['ext'] })
      assert.equal(entry.outcome, 'entered')
      checkLengths(entry.user)
      assert.match(entry.user.userName, externalId === 'long-1' ? /^n{239}😀{8}$/u : /^n{239}😀{3}-[\w-]{8}$/u)
      assert.match(entry.user.email, /^n+@user\.from\.corp\.cf$/)
    }
  })

  it('creates an account even if another user took its predictable suffixed name', async () => {
    await enter()
    const foreseen = (await enter({ externalId: 'sub-2' })).userName
    await enter({ externalId: 'sub-2', userName: 'x', givenName: 'Gone' })
    await enter({ externalId: 'mallory', userName: foreseen })
    await enter({ externalId: 'sub-2', userName: 'y', givenName: 'Still' })
    const { id } = (await store.users.findByExternalId(zone.id, 'corp', 'sub-2')) ?? assert.fail()
    await store.users.delete(zone.id, id)
    const made = await enter({ externalId: 'sub-2' })
    assert.match(made.userName, /^pat-[\w-]{8}$/)
    assert.notEqual(made.userName, foreseen)
  })

  const updates: readonly { name: string; change: Partial<ExternalUserWithRoles>; want: Partial<User> }[] = [
    { name: 'a given name', change: { givenName: 'Patricia' }, want: { givenName: 'Patricia' } },
    { name: 'a family name', change: { familyName: 'Roe' }, want: { familyName: 'Roe' } },
    { name: 'a phone number', change: { phoneNumber: '+9' }, want: { phoneNumber: '+9' } },
    { name: 'an email address', change: { email: 'p@corp.example' }, want: { email: 'p@corp.example' } },
    { name: 'a verified email address', change: { emailVerified: true }, want: { verified: true } },
    { name: 'roles', change: { roles: ['a', 'b'] }, want: { providerRoles: ['a', 'b'] } },
    {
      name: 'attributes',
      change: { attributes: { team: ['x', 'y'], none: [] } },
      want: { profile: { custom: { team: ['x', 'y'] } } },
    },
    {
      name: 'the spelling of the user name along with the rest',
      change: { userName: 'Pat', givenName: 'P' },
      want: { userName: 'Pat', givenName: 'P' },
    },
  ]
  for (const { name, change, want } of updates) {
    // Covers shadow users: updated at login
    it(`updates ${name}`, async () => {
      const before = await enter({ givenName: 'Pat', familyName: 'Doe', phoneNumber: '+1 2' })
      clock.advance(10)
      const after = await enter(change)
      assert.deepEqual(after, { ...before, ...want, version: before.version + 1, updatedAt: clock.now() })
      assert.deepEqual(await store.users.find(zone.id, before.id), after)
    })
  }

  it('removes roles and attributes that the provider no longer sends, and keeps unmapped ones', async () => {
    const first = await enter({ roles: ['a'], attributes: { team: ['x'], floor: ['3'] } })
    const profile = { displayName: 'Pat D', custom: { ...first.profile?.custom, car: ['fast'] } }
    await store.users.updateProfile(zone.id, { ...first, profile })
    const said = { roles: [], attributes: { team: [], floor: ['4'], ['__proto__']: ['x'] } }
    const after = await enter(said)
    assert.deepEqual(
      [after.providerRoles, after.profile],
      [undefined, { displayName: 'Pat D', custom: { floor: ['4'], car: ['fast'] } }],
    )
    assert.deepEqual(await store.users.find(zone.id, first.id), { ...after, version: first.version + 2 })
    const { version } = await enter({})
    assert.equal(version, first.version + 2)
  })

  it('changes a formatted name with the names that it was made of', async () => {
    const first = await enter({ givenName: 'Ann', familyName: 'Lee' })
    await store.users.updateProfile(zone.id, { ...first, profile: { name: { formatted: 'Dr Ann Lee' } } })
    assert.equal((await enter({ givenName: 'Ann' })).profile?.name?.formatted, 'Dr Ann Lee')
    assert.equal((await enter({ familyName: 'Lind' })).profile?.name?.formatted, 'Ann Lind')
  })

  it('keeps at most 100 values of an attribute', async () => {
    const { profile } = await enter({ attributes: { team: Array.from({ length: 150 }, (_, n) => `t${n}`) } })
    assert.equal(profile?.custom?.['team']?.length, 100)
  })

  it('stores roles and attributes of new and of pre-created accounts', async () => {
    const details = { roles: ['a'], attributes: { team: ['x'] } }
    await precreated({ userName: 'sub-9' })
    for (const externalId of ['sub-8', 'sub-9']) {
      const made = await enter({ ...details, userName: externalId, externalId })
      assert.deepEqual([made.providerRoles, made.profile?.custom], [['a'], { team: ['x'] }])
      assert.deepEqual((await store.users.find(zone.id, made.id))?.providerRoles, ['a'])
    }
  })

  const unchanged: readonly { name: string; change: Partial<ExternalUser> }[] = [
    { name: 'nothing changed', change: {} },
    { name: 'only the case of the user name changed', change: { userName: 'Pat' } },
    { name: 'the provider omits the email address', change: { email: undefined } as never },
    { name: 'the provider omits whether a verified address is verified', change: {} },
    {
      name: 'the provider sends emailVerified without an address',
      change: { email: undefined, emailVerified: true } as never,
    },
  ]
  for (const { name, change } of unchanged) {
    it(`writes nothing when ${name}`, async () => {
      const before = await enter({ emailVerified: true, givenName: 'Pat' })
      clock.advance(10)
      assert.deepEqual(await enter(change), before)
      assert.deepEqual(await store.users.find(zone.id, before.id), before)
    })
  }

  const words: readonly { name: string; before?: boolean; change: Partial<ExternalUser>; want: boolean }[] = [
    { name: 'the provider has verified it', change: { emailVerified: true }, want: true },
    { name: 'the provider denies it', before: true, change: { emailVerified: false }, want: false },
    {
      name: 'the provider denies it without an address',
      before: true,
      change: { email: undefined, emailVerified: false } as never,
      want: false,
    },
    {
      name: 'the address changes without emailVerified',
      before: true,
      change: { email: 'x@corp.example' },
      want: false,
    },
    { name: 'the case of the address changes', before: true, change: { email: 'Pat@corp.example' }, want: false },
    {
      name: 'the provider has verified a new address',
      change: { email: 'x@y.example', emailVerified: true },
      want: true,
    },
    {
      name: 'the provider sends emailVerified without an address',
      change: { email: undefined, emailVerified: true } as never,
      want: false,
    },
  ]
  // An application that parses an address differently would identify another user.
  const strange = ['"kim@corp.example"@x.example', 'kim@corp.example,pat@x.example', 'Kim <kim@corp.example>', 'kim']
  const placeholder = 'kim@user.from.corp.cf'
  for (const email of [...strange, 'kim@co\uff52p.example', placeholder]) {
    it(`keeps ${email} unverified even if the provider verified it`, async () => {
      const change = { email, emailVerified: true }
      assert.equal((await enter({ ...change, externalId: 'new', userName: 'new' })).verified, false)
      await enter({ emailVerified: true })
      const changed = await enter(change)
      assert.deepEqual([changed.email, changed.verified], [email, false])
    })
  }

  for (const { name, before = false, change, want } of words) {
    // Covers shadow users: verified follows the provider
    it(`marks the email address as ${want ? '' : 'un'}verified if ${name}`, async () => {
      assert.equal((await enter({ emailVerified: before })).verified, before)
      const { verified, id } = await enter(change)
      assert.equal(verified, want)
      assert.equal((await store.users.find(zone.id, id))?.verified, want)
    })
  }

  const addresses = [
    { name: 'sent by the provider', userName: 'pat', email: 'x@y.example', want: 'x@y.example' },
    { name: 'equal to a user name that is an address', userName: 'pat@home.example', want: 'pat@home.example' },
    // Covers shadow users: missing e-mail is made up
    { name: 'made up for a plain user name', userName: 'pat', want: 'pat@user.from.corp.cf' },
    { name: 'made up for a user name with two @', userName: 'a@b@c', want: 'abc@user.from.corp.cf' },
    { name: 'made up for a user name that begins with @', userName: '@pat', want: 'pat@user.from.corp.cf' },
    { name: 'made up for a user name that ends with @', userName: 'pat@', want: 'pat@user.from.corp.cf' },
  ]
  for (const { name, userName, email, want } of addresses) {
    it(`stores the email address ${name}`, async () => {
      const external: ExternalUser = { userName, externalId: 's', amr: [], ...(email !== undefined && { email }) }
      const entry = await accounts.enter(zone, provider(), external)
      assert.equal(entry.outcome, 'entered')
      assert.equal(entry.user.email, want)
    })
  }

  describe('An account without an external id', () => {
    const linking = (more: Readonly<Record<string, unknown>> = {}): IdentityProvider =>
      provider({ linkByEmail: true, ...more })
    const verified = { emailVerified: true }

    // Covers shadow users: found by e-mail and origin
    it('is found by a verified email address, ignoring ASCII case, and renamed', async () => {
      await precreated({ id: 'before', userName: 'Pat.Doe', email: 'Pat@Corp.example', verified: false })
      const user = await enter(verified, linking({ addShadowUserOnLogin: false }))
      assert.deepEqual(
        [user.id, user.userName, user.email, user.externalId, user.verified],
        ['before', 'pat', 'pat@corp.example', 'sub-1', true],
      )
      assert.deepEqual(await store.users.find(zone.id, 'before'), user)
      assert.equal((await enter()).id, 'before')
    })

    it('keeps its user name if the new one is taken', async () => {
      await enter({ externalId: 'sub-2', email: 'x@corp.example' })
      await precreated({ id: 'before', userName: 'Pat.Doe', email: 'pat@corp.example' })
      const user = await enter(verified, linking())
      assert.deepEqual([user.id, user.userName, user.externalId], ['before', 'Pat.Doe', 'sub-1'])
    })

    it('is linked once by concurrent sign-ins', async () => {
      await precreated({ id: 'before', userName: 'x', email: 'pat@corp.example' })
      const users = await Promise.all([enter(verified, linking()), enter(verified, linking())])
      assert.deepEqual(
        users.map(({ id }) => id),
        ['before', 'before'],
      )
    })

    it('is linked to only one of two users with its email address', async () => {
      await precreated({ id: 'before', userName: 'x', email: 'pat@corp.example' })
      const both = await Promise.all(
        ['sub-1', 'sub-2'].map(externalId => enter({ ...verified, externalId, userName: externalId }, linking())),
      )
      assert.equal(both.filter(({ id }) => id === 'before').length, 1)
      assert.notEqual(both[0]?.id, both[1]?.id)
    })

    it('is found by its email address if linkByEmail is true in standard, or not false in uaa', async () => {
      await precreated({ id: 'before', userName: 'x', email: 'pat@corp.example' })
      for (const linkByEmail of [undefined, false, 'true', 1]) {
        const closed = provider({ addShadowUserOnLogin: false, linkByEmail })
        assert.equal(await refusedTo(verified, closed), NOT_PRECREATED)
      }
      const uaa = accountsIn('uaa')
      const no = provider({ addShadowUserOnLogin: false, linkByEmail: false })
      assert.equal((await uaa.enter(zone, no, { ...pat, ...verified })).outcome, 'refused')
      const entry = await uaa.enter(zone, provider(), { ...pat, ...verified })
      assert.equal(entry.outcome === 'entered' && entry.user.id, 'before')
    })

    it('is ambiguous if two unlinked accounts have the email address', async () => {
      for (const [index, more] of [{ externalId: 'a' }, { active: false }, { passwordHash: 'x' }, {}, {}].entries()) {
        const verifiedFirst = index < 4
        const name = { id: `u${index}`, userName: `u${index}`, email: 'pat@corp.example', verified: verifiedFirst }
        await precreated({ ...name, ...more })
      }
      assert.equal(
        await refusedTo(verified, linking()),
        'Several accounts of the identity provider have this email address.',
      )
    })

    it('is found among linked accounts with the same email address', async () => {
      for (const id of ['a', 'b', 'c', 'd']) {
        await precreated({ id, userName: id, externalId: id, email: 'pat@corp.example', verified: true })
      }
      await precreated({ id: 'before', userName: 'x', email: 'pat@corp.example', verified: false })
      assert.equal((await enter(verified, linking())).id, 'before')
    })

    const notFound: readonly { name: string; account: Partial<User>; external?: Partial<ExternalUser> }[] = [
      { name: 'an unverified email address', account: {}, external: { emailVerified: false } },
      {
        name: 'an email address without emailVerified',
        account: {},
        external: { emailVerified: undefined } as never,
      },
      {
        name: 'a user name equal to its email address',
        account: {},
        external: { userName: 'pat@corp.example', email: undefined } as never,
      },
      {
        name: 'an email address equal only by Unicode case folding',
        account: { email: 'kim@corp.example' },
        external: { email: '\u212aim@corp.example' },
      },
      {
        name: 'a made-up email address',
        account: { email: 'pat@user.from.corp.cf' },
        external: { email: undefined } as never,
      },
      { name: 'its email address if it has an external id', account: { externalId: 'sub-0' } },
      { name: 'its email address if it has a password', account: { passwordHash: 'x' } },
      { name: 'its email address if it is inactive', account: { active: false } },
    ]
    for (const mode of ['standard', 'uaa'] as const) {
      for (const { name, account, external } of notFound) {
        it(`is not found by ${name} in ${mode}`, async () => {
          await precreated({ id: 'victim', userName: 'victim', email: 'pat@corp.example', ...account })
          const entry = await accountsIn(mode).enter(zone, linking(), { ...pat, ...verified, ...external })
          assert.equal(entry.outcome, 'entered')
          assert.notEqual(entry.user.id, 'victim')
        })
      }
    }

    it('is found by a user name equal to the external id', async () => {
      await precreated({ id: 'before', userName: 'sub-1', email: 'x@corp.example' })
      const closed = provider({ addShadowUserOnLogin: false })
      assert.equal(await refusedTo({ userName: 'SUB-1', externalId: 'SUB-1' }, closed), NOT_PRECREATED)
      const user = await enter({ userName: 'sub-1' }, closed)
      assert.deepEqual([user.id, user.externalId], ['before', 'sub-1'])
      assert.equal((await enter({ userName: 'sub-1' }, closed)).id, 'before')
    })

    it('is not found by a user name other than the external id, and blocks that name', async () => {
      await precreated({ id: 'victim' })
      assert.equal(await refusedTo({}), NAME_TAKEN)
      assert.equal(await refusedTo({}, provider({ addShadowUserOnLogin: false })), NOT_PRECREATED)
      assert.equal((await store.users.find(zone.id, 'victim'))?.externalId, undefined)
    })

    it('is not found by its user name if it has a password', async () => {
      await precreated({ id: 'before', userName: 'sub-1', passwordHash: 'x' })
      assert.notEqual((await enter({ userName: 'sub-1' })).id, 'before')
      assert.equal((await store.users.find(zone.id, 'before'))?.externalId, undefined)
    })

    it('is not found by its user name after its first sign-in', async () => {
      await precreated({ id: 'before', userName: 'sub-1', externalId: 'sub-0' })
      assert.notEqual((await enter({ userName: 'sub-1' })).id, 'before')
    })

    it('does not block its user name once linked, even if inactive', async () => {
      for (const active of [true, false]) {
        const userName = `name-${active}`
        await precreated({ id: userName, userName, externalId: 'another user', active, email: 'x@corp.example' })
        const made = await enter({ userName, externalId: userName })
        assert.notEqual(made.id, userName)
        assert.match(made.userName, new RegExp(`^${userName}-[0-9A-Za-z_-]{8}$`))
        const holder = await store.users.find(zone.id, userName)
        assert.equal(holder?.externalId, 'another user')
        await store.users.delete(zone.id, userName)
      }
    })

    // Covers shadow users: error: several with one e-mail
    it('is refused if two have the email address, ignoring inactive ones', async () => {
      await precreated({ id: 'one', userName: 'one', email: 'pat@corp.example' })
      await precreated({ id: 'two', userName: 'two', email: 'PAT@corp.example' })
      assert.match(await refusedTo(verified, linking()), /^Several accounts/)
      const two = await store.users.find(zone.id, 'two')
      assert.ok(two)
      await store.users.update(zone.id, { ...two, active: false })
      assert.equal((await enter(verified, linking())).id, 'one')
    })
  })

  // Covers shadow users: error: must be pre-created
  it('creates no account if addShadowUserOnLogin is false', async () => {
    const closed = provider({ addShadowUserOnLogin: false })
    assert.equal(await refusedTo({}, closed), NOT_PRECREATED)
    assert.equal(await store.users.findByName(zone.id, 'corp', 'pat'), undefined)
    await precreated({ externalId: 'sub-1' })
    assert.equal((await enter({}, closed)).userName, 'pat')
  })

  it('treats an addShadowUserOnLogin other than `false` as true', async () => {
    for (const [index, value] of [undefined, null, 'false', 0, true].entries()) {
      const external = { userName: `u${index}`, externalId: `s${index}`, email: `u${index}@x.example` }
      await enter(external, provider({ addShadowUserOnLogin: value }))
    }
  })

  // Covers shadow users: error: inactive namesake
  it('refuses a user with an inactive account, even if another account has the email address', async () => {
    await precreated({ id: 'gone', active: false, externalId: 'sub-1', email: 'pat@corp.example' })
    await precreated({ id: 'other', userName: 'other', email: 'pat@corp.example' })
    const vouched = { emailVerified: true }
    assert.equal(await refusedTo(vouched, provider({ linkByEmail: true })), NAME_TAKEN)
    assert.equal(await refusedTo(vouched, provider({ linkByEmail: true, addShadowUserOnLogin: false })), NOT_PRECREATED)
  })

  it('refuses the external id of a pre-created account that is inactive', async () => {
    await precreated({ id: 'gone', active: false, userName: 'sub-1' })
    assert.equal(await refusedTo({ userName: 'sub-1' }), NAME_TAKEN)
  })
})
