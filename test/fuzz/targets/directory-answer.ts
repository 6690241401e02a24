import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { checkedMessage, messageLength, NotLdap } from '../../../src/identity/directory/ldap-message.ts'
import { DirectoryError } from '../../../src/identity/directory/directory-error.ts'
import { openSession } from '../../../src/identity/directory/session.ts'
import type { DirectoryAnswer } from '../../../src/identity/directory/session.ts'
import { readDirectorySettings } from '../../../src/providers/directory-settings.ts'
import { externalUserOf } from '../../../src/identity/sources/ldap-user.ts'
import { element, foundEntry, message, result } from '../../support/fake-directory.ts'
import { changedBytes } from '../changes.ts'
import { target, verdictLater, verdictOf } from '../target.ts'

/** A connection whose other side answers the first message with these bytes, and then ends. */
class Answering extends Duplex {
  readonly #bytes: Buffer
  constructor(bytes: Buffer) {
    super()
    this.#bytes = bytes
  }
  override _read(): void {}
  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done()
    setImmediate(() => {
      this.emit('data', this.#bytes)
      setImmediate(() => this.destroy())
    })
  }
}

const URL_OF_IT = { hostname: 'directory.example', port: 389, tls: 'none' } as unknown as Parameters<
  typeof openSession
>[1]
const CONFIG = {
  ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
  baseUrl: 'ldap://directory.example',
  bindUserDn: 'cn=x',
  bindPassword: 'x',
  userSearchBase: 'dc=x',
  userSearchFilter: 'uid={0}',
  attributeMappings: { 'user.attribute.x': ['cn'], email: 'mail', given_name: 'givenName' },
}
const settings = readDirectorySettings(CONFIG)

async function answerOf(bytes: Buffer): Promise<DirectoryAnswer> {
  const socket = new Answering(bytes) as unknown as Socket // what a session uses of one
  const session = await openSession(() => Promise.resolve(socket), URL_OF_IT, {
    verifiesCertificate: true,
    authorities: undefined,
  })
  try {
    return await session.search({ base: 'dc=x', scope: 'sub', attributes: ['cn', 'mail'], sizeLimit: 2 })
  } finally {
    session.close()
  }
}

const attributes = fc.dictionary(
  fc.constantFrom(
    'cn',
    'uid',
    'mail',
    'CN',
    '__proto__',
    'constructor',
    'objectGUID',
    'entryUUID',
    'memberOf',
    '',
    'dn',
  ),
  fc.array(
    fc.constantFrom(
      'ann',
      'ann@example.org',
      '',
      '\0',
      'x'.repeat(300),
      '\ufffd',
      '6f9619ff-8b86-4011-b42d-00cf4fc964ff',
    ),
    { maxLength: 3 },
  ),
  { noNullPrototype: true },
)
const operations = fc.oneof(
  fc.tuple(fc.constantFrom('uid=ann,dc=x', '', 'cn=\0'), attributes).map(([dn, values]) => foundEntry(dn, values)),
  fc.constantFrom(0, 4, 10, 32, 49, 255).map(code => result(0x65, code)),
  fc.constant(element(0x73, element(0x04, 'ldap://other.example/'))),
  fc.constant(result(0x65, 10, element(0xa3, element(0x04, 'ldap://other.example/')))),
  fc.constant(result(0x61)),
)
const answers = fc
  .array(operations, { minLength: 1, maxLength: 3 })
  .map(parts => Buffer.concat([...parts, result(0x65)].map(part => message(2, part))))

/** Answers of a directory: strings of entries, or the one error of a session; never a wait without an end. */
export const directoryAnswer = target({
  name: 'directory-answer',
  inputs: fc.oneof(
    answers.map(bytes => bytes.toString('hex')),
    changedBytes(answers),
  ),
  check(hex) {
    const bytes = Buffer.from(hex, 'hex')
    verdictOf([NotLdap], () => messageLength(bytes))
    verdictOf(
      [NotLdap],
      () => checkedMessage(bytes),
      checked => assert.deepEqual(checkedMessage(checked), checked),
    )
    return verdictLater(
      [DirectoryError],
      () => answerOf(bytes),
      ({ entries }) => {
        for (const entry of entries) {
          assert.equal(typeof entry.dn, 'string')
          for (const values of entry.attributes.values()) assert.ok(values.every(value => typeof value === 'string'))
          assert.ok(!('polluted' in {}))
          const user = externalUserOf({ typedName: 'ann', entry, groups: [] }, CONFIG as never, settings)
          if (!user) continue
          for (const text of [user.userName, user.externalId, user.email ?? 'x', user.givenName ?? 'x']) {
            assert.ok(
              text !== '' && text.length <= 255 && text.isWellFormed() && !/\p{Cc}/u.test(text),
              'no clean text',
            )
          }
        }
      },
    )
  },
})
