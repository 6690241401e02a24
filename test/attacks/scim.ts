import assert from 'node:assert/strict'
import { GROUP_SCHEMA, HOST_OF_Z1, OWN, patchOf, startScimServer, TO_Z1, USER_SCHEMA } from '../admin/scim/support.ts'
import type { Resource, ScimServer } from '../admin/scim/support.ts'
import { cpuStopwatch } from '../support/cpu-time.ts'
import { MODES } from '../support/oauth.ts'
import type { Attack } from './attack.ts'

const BULK = 'urn:ietf:params:scim:api:messages:2.0:BulkRequest'
const SEARCH = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'

/** Runs the attack in both modes, each against its own server. */
const inBothModes = (attempt: (scim: ScimServer) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const scim = await startScimServer(mode)
    await attempt(scim)
    assert.deepEqual(scim.server.faults, [])
    await scim.stop()
  }
}

/** How often the event loop could serve other requests before the response. */
async function eventLoopTurnsDuring<T>(request: Promise<T>): Promise<{ readonly answer: T; readonly turns: number }> {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  count()
  const answer = await request
  isOver = true
  return { answer, turns }
}

const groupsOf = (scim: ScimServer, userId: string): Promise<readonly string[]> =>
  scim.server.store.groups.namesOfUser('svc', userId)

const ADMINISTRATIVE = ['svc.admin', 'clients.admin', 'zones.z1.admin', 'scim.zones', 'idps.write']

/** Attacks by provisioning clients and users on SCIM 2.0. */
export const scimAttacks: readonly Attack[] = [
  {
    attack: 'adds itself to administrative groups with scim.write: by POST, PUT, PATCH, nesting and Bulk',
    outcome: 'is refused unless the token has the scope that it would grant',
    attempt: inBothModes(async scim => {
      const { id } = await scim.createUser()
      const members = [{ value: id }]
      for (const displayName of ADMINISTRATIVE) {
        const made = await scim.send('POST', '/Groups', { body: { schemas: [GROUP_SCHEMA], displayName, members } })
        assert.equal(made.status, 403, made.text)
        const own = { schemas: [GROUP_SCHEMA], displayName }
        const group = (await scim.send('POST', '/Groups', { by: 'root', body: own })).json<Resource>()
        const plain = { schemas: [GROUP_SCHEMA], displayName: `plain.${displayName}`, members }
        const inner = (await scim.send('POST', '/Groups', { body: plain })).json<Resource>()
        const patch = patchOf({ op: 'add', path: 'members', value: members })
        const operations = [
          { method: 'PATCH', path: `/Groups/${group.id}`, data: patch },
          { method: 'PUT', path: `/Groups/${group.id}`, data: { ...own, members } },
          {
            method: 'PATCH',
            path: `/Groups/${group.id}`,
            data: patchOf({ op: 'add', path: 'members', value: [{ value: inner.id }] }),
          },
          {
            method: 'PATCH',
            path: `/Groups/${group.id}`,
            data: patchOf({ op: 'replace', path: 'displayName', value: 'harmless' }),
          },
          {
            method: 'PATCH',
            path: `/Groups/${inner.id}`,
            data: patchOf({ op: 'replace', path: 'displayName', value: `${displayName}.x.admin` }),
          },
        ]
        for (const { method, path, data } of operations.slice(0, 4)) {
          const answer = await scim.send(method, path, { body: data })
          assert.equal(answer.status, 403, `${method} ${path} ${displayName}: ${answer.text}`)
        }
        const bulk = await scim.send('POST', '/Bulk', { body: { schemas: [BULK], Operations: operations.slice(0, 4) } })
        const results = bulk.json<{ Operations: readonly { status: string }[] }>().Operations
        assert.deepEqual(
          results.map(({ status }) => status),
          ['403', '403', '403', '403'],
        )
        assert.ok(!(await groupsOf(scim, id)).includes(displayName))
      }
    }),
  },
  {
    attack: 'sends a Bulk request of a thousand operations that fail at once, to keep the server busy',
    outcome: 'other requests are served between the operations',
    attempt: inBothModes(async scim => {
      const data = { schemas: [GROUP_SCHEMA], displayName: ' ' }
      const Operations = Array.from({ length: 1000 }, (_, index) => ({
        method: 'POST',
        path: '/Groups',
        bulkId: `b${index}`,
        data,
      }))
      const { answer, turns } = await eventLoopTurnsDuring(
        scim.send('POST', '/Bulk', { body: { schemas: [BULK], Operations } }),
      )
      assert.equal(answer.json<{ Operations: readonly unknown[] }>().Operations.length, 1000)
      assert.ok(turns >= 1000, `${turns} turns`)
    }),
  },
  {
    attack: 'adds ten thousand members that do not exist, to keep the server busy',
    outcome: 'is refused, and other requests are served during the lookup',
    attempt: inBothModes(async scim => {
      const made = await scim.send('POST', '/Groups', { body: { schemas: [GROUP_SCHEMA], displayName: 'team' } })
      const value = Array.from({ length: 10_000 }, (_, index) => ({ value: `nobody-${index}` }))
      const body = patchOf({ op: 'add', path: 'members', value })
      const { answer, turns } = await eventLoopTurnsDuring(
        scim.send('PATCH', `/Groups/${made.json<Resource>().id}`, { body }),
      )
      assert.equal(answer.status, 400)
      assert.ok(turns >= 300, `${turns} turns`)
    }),
  },
  {
    attack: 'patches a hundred addresses with a thousand filters, to keep the server busy',
    outcome: 'is refused after hundredths of a second',
    attempt: inBothModes(async scim => {
      const { id } = await scim.createUser()
      const value = Array.from({ length: 100 }, (_, index) => ({ formatted: `a${index}` }))
      const path = 'addresses[formatted eq "a1" and type ne "home"].locality'
      const change = (...operations: readonly Parameters<typeof patchOf>[0][]) =>
        scim.send('PATCH', `/Users/${id}`, { body: patchOf(...operations) })
      assert.equal((await change({ op: 'add', path: 'addresses', value })).status, 200)
      const many = (count: number) =>
        Array.from({ length: count }, (_, index) => ({ op: 'replace', path, value: `x${index}` }))
      const refused = await change(...many(126))
      assert.equal(refused.status, 400)
      assert.match(refused.text, /The operations of the request compare too many values/)
      assert.equal((await change(...many(125))).status, 200)
    }),
  },
  {
    attack: 'changes ten thousand members of one request hundreds of times, to keep the server busy',
    outcome: 'is refused after hundredths of a second; adding a thousand members one by one is accepted',
    attempt: inBothModes(async scim => {
      const made = await scim.send('POST', '/Groups', { body: { schemas: [GROUP_SCHEMA], displayName: 'team' } })
      const { id } = made.json<Resource>()
      const members = Array.from({ length: 10_000 }, (_, index) => ({ value: `m${index}`, type: 'User' }))
      const change = (...operations: readonly Parameters<typeof patchOf>[0][]) =>
        scim.send('PATCH', `/Groups/${id}`, { body: patchOf(...operations) })
      for (const operation of [
        { op: 'replace', path: 'members.type', value: 'User' },
        { op: 'replace', path: 'members[value eq "m1"].type', value: 'User' },
        { op: 'remove', path: 'members[value eq "m"]' },
        { op: 'add', path: 'members', value: [{ value: 'm1' }] },
      ]) {
        const all = { op: 'replace', path: 'members', value: members }
        const refused = await change(all, ...Array.from({ length: 900 }, () => operation))
        assert.match(refused.text, /compare too many values/, operation.path)
        assert.equal(refused.status, 400)
      }
      const one = await change(...members.slice(0, 1000).map(value => ({ op: 'add', path: 'members', value: [value] })))
      assert.match(one.text, /User m0 does not exist/) // everything else about them is right
    }),
  },
  {
    attack: 'adds the same address hundreds of times to a long list, or names an attribute in thousands of spellings',
    outcome: 'is refused after hundredths of a second',
    attempt: inBothModes(async scim => {
      const { id } = await scim.createUser()
      const value = Array.from({ length: 100 }, (_, index) => ({ formatted: `a${index}` }))
      const spellings = Array.from({ length: 5001 }, (_, index) =>
        Array.from('preferredlanguage', (letter, place) => ((index >> place) & 1 ? letter.toUpperCase() : letter)).join(
          '',
        ),
      )
      const half = (part: readonly string[]) => ({
        op: 'replace',
        value: Object.fromEntries(part.map(name => [name, 'de'])),
      })
      const again = Array.from({ length: 250 }, () => ({ op: 'add', path: 'addresses', value: value.slice(0, 1) }))
      const cases = [
        [[{ op: 'add', path: 'addresses', value }, ...again], /compare too many values/],
        [[half(spellings.slice(0, 2500)), half(spellings.slice(2500))], /at most 5000 attributes/],
      ] as const
      for (const [operations, reason] of cases) {
        const answer = await scim.send('PATCH', `/Users/${id}`, { body: patchOf(...operations) })
        assert.match(answer.text, reason)
        assert.equal(answer.status, 400)
      }
    }),
  },
  {
    attack: 'sets the password of an administrator with scim.write',
    outcome: 'is refused: the caller lacks the rights of the account',
    attempt: inBothModes(async scim => {
      const admin = await scim.createUser({ userName: 'chief@example.org', password: 'correct horse 1' })
      const body = { schemas: [GROUP_SCHEMA], displayName: 'svc.admin', members: [{ value: admin.id }] }
      await scim.send('POST', '/Groups', { by: 'root', body })
      const patch = patchOf({ op: 'replace', path: 'password', value: 'mine mine mine 1' })
      const put = { schemas: [USER_SCHEMA], userName: 'chief@example.org', password: 'mine mine mine 1' }
      assert.equal((await scim.send('PATCH', `/Users/${admin.id}`, { body: patch })).status, 403)
      assert.equal((await scim.send('PUT', `/Users/${admin.id}`, { body: put })).status, 403)
      assert.equal(await scim.userToken('chief@example.org', 'mine mine mine 1'), 'undefined')
      assert.equal((await scim.send('PATCH', `/Users/${admin.id}`, { by: 'root', body: patch })).status, 200)
    }),
  },
  {
    attack: 'becomes an administrator with scim.write by the address, name or external id of their account',
    outcome: 'is refused, because these identify the account for password reset and sign-in',
    attempt: inBothModes(async scim => {
      const admin = await scim.createUser({ userName: 'chief@example.org', password: 'correct horse 1' })
      const body = { schemas: [GROUP_SCHEMA], displayName: 'svc.admin', members: [{ value: admin.id }] }
      await scim.send('POST', '/Groups', { by: 'root', body })
      const before = await scim.server.store.users.find('svc', admin.id)
      const mail = [{ value: 'mine@example.org', primary: true }]
      const kept = { schemas: [USER_SCHEMA], userName: 'chief@example.org' }
      const patches = [
        patchOf({ op: 'replace', path: 'emails', value: mail }),
        patchOf({ op: 'replace', path: 'userName', value: 'mine@example.org' }),
        patchOf({ op: 'add', value: { externalId: 'mine' } }),
      ]
      for (const patch of patches) {
        assert.equal((await scim.send('PATCH', `/Users/${admin.id}`, { body: patch })).status, 403)
      }
      const put = await scim.send('PUT', `/Users/${admin.id}`, { body: { ...kept, emails: mail } })
      assert.equal(put.status, 403, put.text)
      const operation = { method: 'PATCH', path: `/Users/${admin.id}`, data: patches[0] }
      const bulk = await scim.send('POST', '/Bulk', { body: { schemas: [BULK], Operations: [operation] } })
      assert.match(bulk.text, /"status":"403"/)
      assert.deepEqual(await scim.server.store.users.find('svc', admin.id), before)
      const name = patchOf({ op: 'replace', path: 'name.givenName', value: 'Zoe' })
      assert.equal((await scim.send('PATCH', `/Users/${admin.id}`, { body: name })).status, 200)
      assert.equal((await scim.send('PATCH', `/Users/${admin.id}`, { by: 'root', body: patches[0] })).status, 200)
    }),
  },
  {
    attack: 'creates users with profiles of a megabyte, to exhaust memory by listing them',
    outcome: 'is refused beyond 64 KiB per user',
    attempt: inBothModes(async scim => {
      const photos = (count: number) =>
        Array.from({ length: count }, (_, place) => ({ value: `https://x.example/${place}${'y'.repeat(9000)}` }))
      const user = { schemas: [USER_SCHEMA], userName: 'large@example.org' }
      const large = await scim.send('POST', '/Users', { body: { ...user, photos: photos(90) } })
      assert.equal(large.status, 400, large.text)
      const made = await scim.send('POST', '/Users', { body: { ...user, photos: photos(7) } })
      assert.equal(made.status, 201, made.text)
      const { id } = made.json<Resource>()
      const patch = patchOf({ op: 'add', path: 'x509Certificates', value: [{ value: 'QUFB'.repeat(2000) }] })
      assert.equal((await scim.send('PATCH', `/Users/${id}`, { body: patch })).status, 400)
    }),
  },
  {
    attack: 'lists hundreds of users with profiles of 64 KiB, 32 MB in total',
    outcome: 'pages are limited to 4 MiB, have each user exactly once, and do not block other requests',
    attempt: inBothModes(async scim => {
      const photos = Array.from({ length: 7 }, (_, place) => ({
        value: `https://x.example/${place}${'y'.repeat(9000)}`,
      }))
      const names = Array.from({ length: 100 }, (_, place) => `large${place}@example.org`)
      for (const userName of names) {
        const made = await scim.send('POST', '/Users', { body: { schemas: [USER_SCHEMA], userName, photos } })
        assert.equal(made.status, 201, made.text)
      }
      const most = 4.5 * 1024 * 1024
      const query = 'filter=userName%20sw%20%22large%22&count=500'
      const seen = { byNumber: [] as string[], byCursor: [] as string[], inAll: [] as string[] }
      const keep = (found: string[], text: string) => {
        assert.ok(text.length < most, `${text.length} characters`)
        const { Resources, nextCursor } = JSON.parse(text)
        for (const { userName } of Resources) if (userName !== undefined) found.push(userName)
        assert.ok(Resources.length > 0)
        return { nextCursor, count: Number(Resources.length) }
      }
      let allTurns = 0
      for (let start = 1; start <= names.length; ) {
        const { answer, turns } = await eventLoopTurnsDuring(scim.send('GET', `/Users?${query}&startIndex=${start}`))
        allTurns += turns
        start += keep(seen.byNumber, answer.text).count
      }
      assert.ok(allTurns > 3, `${allTurns} turns of the event loop`)
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const answer = await scim.send('GET', `/Users?${query}&cursor=${encodeURIComponent(cursor)}`)
        cursor = keep(seen.byCursor, answer.text).nextCursor
      }
      const { totalResults } = (await scim.send('GET', `/Users?${query.replace('500', '0')}`)).json<{
        totalResults: number
      }>()
      assert.equal(totalResults, 100)
      const body = { schemas: [SEARCH], filter: 'userName sw "large" or displayName sw "svc."', count: 500 }
      for (let startIndex = 1; startIndex <= 100; ) {
        const answer = await scim.send('POST', '/.search', { body: { ...body, startIndex } })
        startIndex += keep(seen.inAll, answer.text).count
      }
      for (const found of Object.values(seen)) assert.deepEqual(found.toSorted(), names.toSorted())
    }),
  },
  {
    attack: 'lists hundreds of groups with many members',
    outcome: 'other requests are served meanwhile',
    attempt: inBothModes(async scim => {
      const { groups } = scim.server.store
      const now = new Date()
      const ids = Array.from({ length: 200 }, (_, n) => `many${n}`)
      await groups.insertMissing(
        'svc',
        ids.map(id => ({ zoneId: 'svc', id, displayName: id, version: 0, createdAt: now, updatedAt: now })),
      )
      const list = scim.send('GET', '/Groups?filter=displayName%20sw%20%22many%22&count=500')
      const { answer, turns } = await eventLoopTurnsDuring(list)
      assert.equal(answer.json<{ totalResults: number }>().totalResults, 200)
      assert.ok(turns > 10, `${turns} turns of the event loop`)
    }),
  },
  {
    attack: 'nests 200 groups in one that is in 200 others, and repeatedly removes memberships',
    outcome: 'each removal takes little time',
    async attempt() {
      const scim = await startScimServer('standard')
      const { groups } = scim.server.store
      const now = new Date()
      const group = (id: string) => ({ zoneId: 'svc', id, displayName: id, version: 0, createdAt: now, updatedAt: now })
      const names = (prefix: string) => Array.from({ length: 200 }, (_, n) => `${prefix}${n}`)
      const [inner, outer] = [names('inner'), names('outer')]
      await groups.insertMissing('svc', ['hub', ...inner, ...outer].map(group))
      const nested = (memberId: string) => ({ memberId, memberType: 'GROUP', origin: 'svc' }) as const
      await groups.insertMembers('svc', 'hub', inner.map(nested))
      for (const id of outer) await groups.insertMembers('svc', id, [nested('hub')])
      const user = { schemas: [USER_SCHEMA], userName: 'leaver', emails: [{ value: 'leaver@example.org' }] }
      const leaver = (await scim.send('POST', '/Users', { body: user })).json<Resource>().id
      await groups.insertMembers('svc', 'hub', [{ memberId: leaver, memberType: 'USER', origin: 'svc' }])
      const remove = async (id: string, memberId: string) => {
        const body = patchOf({ op: 'remove', path: `members[value eq "${memberId}"]` })
        assert.equal((await scim.send('PATCH', `/Groups/${id}`, { body })).status, 204)
      }
      const elapsed = cpuStopwatch()
      await remove('hub', leaver)
      for (const place of [0, 1, 2, 3]) {
        await groups.removeMember('svc', 'hub', `inner${place}`)
        await remove('hub', `inner${place + 4}`)
        await remove(`outer${place}`, 'hub')
        assert.equal((await scim.send('DELETE', `/Groups/outer${place + 4}`)).status, 204)
      }
      const milliseconds = elapsed()
      assert.ok(milliseconds < 3000, `took ${milliseconds} ms`)
      const first = await groups.listOuter('svc', 'inner9')
      assert.deepEqual([first.length, (await groups.listOuter('svc', 'inner0')).length], [193, 0])
      await scim.stop()
    },
  },
  {
    attack: 'nests a group in a thousand others and adds many users, to exhaust memory by listing them',
    outcome: 'is refused beyond 100,000 memberships in total and 10,000 per user',
    attempt: inBothModes(async scim => {
      const { groups, users } = scim.server.store
      const now = new Date()
      const group = (id: string) => ({ zoneId: 'svc', id, displayName: id, version: 0, createdAt: now, updatedAt: now })
      await groups.insertMissing('svc', [group('inner'), ...Array.from({ length: 10_000 }, (_, n) => group(`m${n}`))])
      for (let n = 0; n < 1000; n += 1) {
        await groups.insertMember('svc', { groupId: `m${n}`, memberId: 'inner', memberType: 'GROUP', origin: 'svc' })
      }
      const ids: string[] = []
      for (let n = 0; n < 100; n += 1) {
        const user = { schemas: [USER_SCHEMA], userName: `nested${n}`, emails: [{ value: `n${n}@example.org` }] }
        ids.push((await scim.send('POST', '/Users', { body: user })).json<Resource>().id)
      }
      const origin = 'svc'
      await groups.insertMembers(
        'svc',
        'inner',
        ids.map(memberId => ({ memberId, memberType: 'USER', origin })),
      )
      const list = '/Users?filter=userName%20sw%20%22nested%22&count=100'
      const refused = await scim.send('GET', list)
      assert.deepEqual([refused.status, refused.json()['scimType']], [400, 'tooMany'])
      assert.equal((await scim.send('GET', `${list}&excludedAttributes=groups`)).status, 200)
      assert.equal((await scim.send('GET', list.replace('count=100', 'count=90'))).status, 200)

      const [one = ''] = ids
      const add = Array.from({ length: 10_000 }, (_, n) => `m${n}`)
      await groups.changeOwned('svc', { userId: one, origin }, { remove: [], add })
      assert.equal((await scim.send('GET', `/Users/${one}`)).status, 400)
      await assert.rejects(users.findWithGroups('svc', one), /too many groups/)
      assert.equal((await scim.send('DELETE', `/Users/${one}`)).status, 204)
    }),
  },
  {
    attack: 'patches read-only attributes, unknown attributes and prototypes',
    outcome: 'changes nothing',
    attempt: inBothModes(async scim => {
      const { id } = await scim.createUser()
      const before = (await scim.send('GET', `/Users/${id}`)).text
      for (const [path, value] of [
        ['id', 'other'],
        ['meta.created', '2001-01-01T00:00:00Z'],
        ['meta', { version: 'W/"9"' }],
        ['groups', [{ value: 'g' }]],
        ['schemas', []],
        [`${OWN}:origin`, 'ldap'],
        [`${OWN}:passwordHash`, '$2b$04$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK'],
        [`${OWN}:lastLogonTime`, '2001-01-01T00:00:00Z'],
        ['salt', 'x'],
        ['zoneId', 'z1'],
        ['passwordHash', 'x'],
        ['__proto__', { active: false }],
        ['__proto__.polluted', true],
        ['constructor.prototype.polluted', true],
        ['name.__proto__.polluted', true],
        ['emails[type eq "work"].__proto__', { polluted: true }],
      ] as const) {
        const answer = await scim.send('PATCH', `/Users/${id}`, { body: patchOf({ op: 'add', path, value }) })
        assert.equal(answer.status, 400, `${path}: ${answer.text}`)
        const inValue = await scim.send('PATCH', `/Users/${id}`, {
          body: patchOf({ op: 'add', value: { constructor: value } }),
        })
        assert.equal(inValue.status, 400)
      }
      const raw = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"add","value":{"__proto__":{"polluted":true}}}]}`
      assert.equal((await scim.send('PATCH', `/Users/${id}`, { body: raw })).status, 400)
      assert.equal((await scim.send('GET', `/Users/${id}`)).text, before)
      assert.equal(Reflect.get({}, 'polluted'), undefined)
    }),
  },
  // Covers /scim/v2/Groups/.search: error: invalid filter
  {
    attack: 'sends filters and paths nested 10,000 deep, of 100 kB, and with SQL in them',
    outcome: 'is refused with 400 immediately',
    attempt: inBothModes(async scim => {
      const { id } = await scim.createUser()
      const deep = `${'('.repeat(10_000)}userName pr${')'.repeat(10_000)}`
      const long = `userName eq "${'x'.repeat(100_000)}"`
      const wide = Array.from({ length: 2000 }, () => 'userName pr').join(' and ')
      for (const filter of [
        deep,
        long,
        wide,
        `${'not '.repeat(5000)}(id pr)`,
        `userName eq "x" or 1=1 --`,
        `x';drop table users;--`,
      ]) {
        for (const path of ['/Users/.search', '/Groups/.search', '/.search']) {
          const answer = await scim.send('POST', path, { body: { schemas: [SEARCH], filter } })
          assert.deepEqual([answer.status, answer.json()['scimType']], [400, 'invalidFilter'], filter.slice(0, 40))
        }
        const path = `emails[${filter}]`
        const answer = await scim.send('PATCH', `/Users/${id}`, { body: patchOf({ op: 'remove', path }) })
        assert.equal(answer.status, 400)
      }
      const injected = await scim.send('GET', '/Users', { query: { filter: `userName eq "' or 1=1 --"` } })
      assert.equal(injected.json()['totalResults'], 0)
    }),
  },
  {
    attack: 'addresses users and groups of another zone by id: in the path, as member, manager, bulkId or cursor',
    outcome: 'they are not found, and nothing is changed',
    attempt: inBothModes(async scim => {
      const theirs = await scim.createUser({}, { by: 'z1-admin', headers: TO_Z1 })
      const body = { schemas: [GROUP_SCHEMA], displayName: 'theirs' }
      const group = (await scim.send('POST', '/Groups', { by: 'z1-admin', headers: TO_Z1, body })).json<Resource>()
      const patch = patchOf({ op: 'add', path: 'displayName', value: 'x' })
      for (const path of [`/Users/${theirs.id}`, `/Groups/${group.id}`]) {
        for (const [method, sent] of [
          ['GET', undefined],
          ['PATCH', patch],
          ['DELETE', undefined],
        ] as const) {
          assert.equal((await scim.send(method, path, { by: 'root', body: sent })).status, 404, `${method} ${path}`)
        }
        const bulk = {
          schemas: [BULK],
          Operations: [
            { method: 'DELETE', path },
            { method: 'PATCH', path, data: patch },
          ],
        }
        const { Operations } = (await scim.send('POST', '/Bulk', { by: 'root', body: bulk })).json<{
          Operations: readonly { status: string }[]
        }>()
        assert.deepEqual(
          Operations.map(({ status }) => status),
          ['404', '404'],
        )
      }
      const mine = { schemas: [GROUP_SCHEMA], displayName: 'mine', members: [{ value: theirs.id }] }
      for (const type of [undefined, 'User', 'Group']) {
        const members = [{ value: theirs.id, ...(type && { type }) }]
        assert.equal((await scim.send('POST', '/Groups', { by: 'root', body: { ...mine, members } })).status, 400)
      }
      const page = await scim.send('GET', '/Users', {
        by: 'z1-admin',
        headers: TO_Z1,
        query: { cursor: '', count: '1' },
      })
      const { nextCursor: cursor = 'v1.none' } = page.json<{ nextCursor?: string }>()
      const stolen = await scim.send('GET', '/Users', { by: 'root', query: { cursor, count: '1' } })
      assert.equal(stolen.json()['scimType'], 'invalidCursor')
      const native = { bearer: await scim.tokenOf('z1-native', HOST_OF_Z1) }
      assert.equal((await scim.send('GET', '/Users', native)).status, 401)
      assert.equal((await scim.send('GET', `/Users/${theirs.id}`, { by: 'z1-admin', headers: TO_Z1 })).status, 200)
    }),
  },
  {
    attack: 'imports an expensive password hash, or one without being an administrator',
    outcome: 'is refused before anything is stored',
    attempt: inBothModes(async scim => {
      const salt = 'MDEyMzQ1Njc4OWFiY2RlZg'
      const digest = 'YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE'
      const body = (passwordHash: string) => ({
        schemas: [USER_SCHEMA],
        userName: 'dear@example.org',
        [OWN]: { passwordHash },
      })
      for (const hash of [
        `$argon2id$v=19$m=4194304,t=1,p=1$${salt}$${digest}`,
        `$argon2id$v=19$m=65536,t=99,p=1$${salt}$${digest}`,
        '$2b$31$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK',
        'plain text',
      ]) {
        assert.equal((await scim.send('POST', '/Users', { by: 'root', body: body(hash) })).status, 400, hash)
      }
      const cheap = body('$2b$04$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK')
      assert.equal((await scim.send('POST', '/Users', { body: cheap })).status, 403)
      assert.equal(await scim.server.store.users.findByName('svc', 'svc', 'dear@example.org'), undefined)
    }),
  },
]
