// Maps an LDAP entry to an external user.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createOutbound } from '../../src/base/outbound.ts'
import { createRandom } from '../../src/base/random.ts'
import { createDirectories } from '../../src/identity/directory/directory.ts'
import type { DirectoryEntry } from '../../src/identity/directory/session.ts'
import { readDirectorySettings } from '../../src/providers/directory-settings.ts'
import { externalUserOf } from '../../src/identity/sources/ldap-user.ts'
import type { DirectoryUser } from '../../src/identity/sources/ldap-user.ts'
import { createTestClock } from '../support/clock.ts'
import { element, message, result, startFakeDirectory } from '../support/fake-directory.ts'

type Config = Readonly<Record<string, unknown>>
type Attributes = Readonly<Record<string, readonly string[]>>

const BASE: Config = { baseUrl: 'ldap://directory.example', userSearchBase: 'ou=people' }
const SEARCH: Config = { ...BASE, ldapProfileFile: 'ldap/ldap-search-and-bind.xml', userSearchFilter: '(uid={0})' }

function personIn(
  attributes: Attributes,
  {
    config = {},
    typedName = 'ann',
    groups = [],
    ...entry
  }: Partial<Pick<DirectoryUser, 'typedName' | 'groups'> & Pick<DirectoryEntry, 'dn' | 'uniqueId'>> & {
    readonly config?: Config
  } = {},
) {
  const settings = { ...SEARCH, ...config }
  const found = {
    typedName,
    groups,
    entry: { dn: 'UID=Ann,OU=Ä', ...entry, attributes: new Map(Object.entries(attributes)) },
  }
  return externalUserOf(found, settings, readDirectorySettings(settings))
}

describe('The external id of an LDAP user', () => {
  it('is the unique id of the entry, or else the login name', () => {
    assert.equal(personIn({ uid: ['Ann'] }, { uniqueId: 'u-1' })?.externalId, 'u-1')
    assert.equal(personIn({ uid: ['Ann'] })?.externalId, 'Ann')
  })

  it('is the DN in ASCII lower case if the login name may be ambiguous', () => {
    const dn = 'uid=ann,ou=Ä'
    assert.equal(personIn({})?.externalId, dn, 'an unreadable name')
    assert.equal(personIn({ uid: ['ann', 'anna'] })?.externalId, dn, 'several names')
    assert.equal(personIn({ uid: ['bob'] })?.externalId, dn, 'another name than typed')
    const either = { userSearchFilter: '(|(uid={0})(mail={0}))' }
    assert.equal(personIn({ uid: ['ann'] }, { config: either })?.externalId, dn, 'found by one of several attributes')
    const patterns = { ldapProfileFile: 'ldap/ldap-simple-bind.xml', userDNPattern: 'uid={0},ou=a;uid={0},ou=b' }
    assert.equal(personIn({ uid: ['ann'] }, { config: patterns })?.externalId, dn, 'several patterns')
  })

  it('is the DN if the login name looks like a DN or unique id', () => {
    for (const uid of [
      'uid=boss,ou=people',
      '6f9619ff-8b86-4011-b42d-00cf4fc964ff',
      '6F9619FF8B864011B42D00CF4FC964FF',
    ])
      assert.equal(personIn({ uid: [uid] }, { typedName: uid })?.externalId, 'uid=ann,ou=Ä', uid)
  })

  it('is refused if it is too long, empty or has a NUL character', () => {
    for (const dn of ['x'.repeat(256), 'cn=\0', '']) assert.equal(personIn({}, { dn }), undefined)
  })
})

describe('The user name of an LDAP user', () => {
  it('is the login name in the spelling of the directory', () => {
    for (const typedName of ['ann lee', 'ANN LEE', ' Ann  Lee ', 'Ａnn Lee'])
      assert.equal(personIn({ uid: ['other', 'Ann Lee'] }, { typedName })?.userName, 'Ann Lee')
    assert.equal(personIn({ uid: ['ann'] }, { typedName: 'ann@example.org' })?.userName, 'ann')
    assert.equal(personIn({}, { typedName: ' Ann ' })?.userName, 'Ann')
  })

  it('is assigned only if it was typed and is unambiguous', () => {
    assert.equal(personIn({ uid: ['Ann'] })?.nameIsAssigned, true)
    assert.equal(personIn({ uid: ['bob'] })?.nameIsAssigned, false)
    assert.equal(personIn({})?.nameIsAssigned, false)
    const patterns = { ldapProfileFile: 'ldap/ldap-simple-bind.xml', userDNPattern: 'uid={0},ou=a;uid={0},ou=b' }
    assert.equal(personIn({ uid: ['ann'] }, { config: patterns })?.nameIsAssigned, false)
  })

  it('is refused with control characters, lone surrogates or 256 characters', () => {
    for (const uid of ['a\u0007', 'x'.repeat(256), '\ud800']) assert.equal(personIn({ uid: [uid] }), undefined)
  })
})

describe('The attributes of an LDAP user', () => {
  it('use the first valid value', () => {
    const user = personIn({
      uid: ['ann'],
      mail: ['no address', 'ann@example.org'],
      givenname: ['x'.repeat(256), 'a\nb', '', 'Ann', 'Anna'],
      sn: [],
    })
    assert.deepEqual([user?.givenName, user?.familyName, user?.email], ['Ann', undefined, 'ann@example.org'])
    assert.equal(personIn({ uid: ['ann'], mail: ['no address'] })?.email, undefined)
  })

  it('ignore inherited members of objects', () => {
    const attributeMappings = JSON.parse(
      '{"user.attribute.__proto__":"sn","user.attribute.a":"constructor","user.attribute.":"sn"}',
    )
    const user = personIn({ uid: ['ann'], sn: ['x'] }, { config: { attributeMappings } })
    assert.deepEqual(Object.keys(user?.attributes ?? {}).toSorted(), ['__proto__', 'a'])
    assert.equal(Reflect.get({}, '0'), undefined)
  })

  it('keep the first hundred values of an attribute', () => {
    const config = { attributeMappings: { 'user.attribute.a': ['sn', 'SN'] } }
    const values = Array.from({ length: 60_000 }, (_, index) => `${index}`)
    assert.deepEqual(personIn({ uid: ['ann'], sn: values }, { config })?.attributes, { a: values.slice(0, 100) })
  })

  it('omit values with control characters or more than 1024 characters', () => {
    const config = { attributeMappings: { 'user.attribute.a': ['sn', 'L'] } }
    const values = ['x'.repeat(1024), 'x'.repeat(1025), 'b\u0000', 'c']
    assert.deepEqual(personIn({ uid: ['ann'], sn: values, l: ['d'] }, { config })?.attributes, {
      a: ['x'.repeat(1024), 'c', 'd'],
    })
  })

  it('use cn as role, and distinct non-empty scopes', () => {
    const groups = [
      { dn: 'cn=a', cn: 'a', roles: ['x.read, x.write ,,x.read', 'y.read'] },
      { dn: 'cn=b', cn: 'b\u0007', roles: [] },
      { dn: 'cn=c', cn: undefined, roles: [] },
      { dn: 'cn=\0', cn: undefined, roles: ['\0'] },
    ]
    const config = {
      ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml',
      externalGroupsWhitelist: ['*'],
      autoAddGroups: false,
    }
    assert.deepEqual(personIn({ uid: ['ann'] }, { groups, config })?.groups, {
      asScopes: ['x.read', 'x.write', 'y.read', '\0'], // invalid as a group name
      roles: ['a'],
      addsMissing: false,
    })
    const mapped = { ...config, ldapGroupFile: 'ldap/ldap-groups-map-to-scopes.xml', storeCustomAttributes: false }
    assert.deepEqual(personIn({ uid: ['ann'] }, { groups, config: mapped })?.groups, {
      mapped: ['cn=a', 'cn=b', 'cn=c'],
      areDns: true,
      roles: [],
      addsMissing: false,
    })
  })
})

describe('The unique id of an LDAP entry', () => {
  const BIND = 0x60
  const GUID = Buffer.from('33221100554477668899aabbccddeeff', 'hex')
  const cases: readonly (readonly [
    name: string,
    Readonly<Record<string, readonly (string | Buffer)[]>>,
    string | undefined,
  ])[] = [
    ['entryUUID', { entryUUID: ['0F3EA5C2-1B1A-4F55-8E36-9F5C2A1B0C3D'] }, '0f3ea5c2-1b1a-4f55-8e36-9f5c2a1b0c3d'],
    ['binary objectGUID', { objectGUID: [GUID] }, '00112233-4455-6677-8899-aabbccddeeff'],
    ['objectGUID that is valid text', { objectGUID: ['0123456789abcdef'] }, '33323130-3534-3736-3839-616263646566'],
    ['nsUniqueId', { nsUniqueId: ['8c0fd5a1-1dd211b2-80a8bdd3-4a4f0000'] }, '8c0fd5a1-1dd211b2-80a8bdd3-4a4f0000'],
    [
      'undefined for several values',
      { entryUUID: ['0f3ea5c2-1b1a-4f55-8e36-9f5c2a1b0c3d', '1f3ea5c2-1b1a-4f55-8e36-9f5c2a1b0c3d'] },
      undefined,
    ],
    ['undefined for malformed values', { objectGUID: [GUID.subarray(1)], nsUniqueId: ['ann'] }, undefined],
  ]
  for (const [name, attributes, want] of cases) {
    it(`is ${name}`, async () => {
      const parts = Object.entries(attributes).map(([type, values]) =>
        element(0x30, element(0x04, type), element(0x31, ...values.map(value => element(0x04, value)))),
      )
      const entry = element(0x64, element(0x04, 'cn=ann'), element(0x30, ...parts))
      const directory = await startFakeDirectory((socket, { id, operation }) => {
        if (operation === BIND) return void socket.write(message(id, result(0x61)))
        return void socket.write(Buffer.concat([message(id, entry), message(id, result(0x65))]))
      })
      const directories = createDirectories({
        outbound: createOutbound({ allowPrivate: false, allowLoopback: true }),
        passwords: { verify: () => assert.fail() },
        clock: createTestClock(),
        random: createRandom(),
      })
      try {
        const settings = readDirectorySettings({ ...SEARCH, baseUrl: directory.url })
        const found = await directories.authenticate(settings, { userName: 'ann', password: 'hush-hush' })
        assert.ok(found.outcome === 'found', JSON.stringify(found))
        assert.equal(found.entry.uniqueId, want)
      } finally {
        await directory.stop()
      }
    })
  }
})
