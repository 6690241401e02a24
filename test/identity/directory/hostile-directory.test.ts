// Directories that send wrong data, do not respond or never stop sending: limits on time and bytes hold, and nobody is signed in.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, describe, it } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import type { OutboundOptions } from '../../../src/base/outbound.ts'
import { createOutbound, OutboundBusy } from '../../../src/base/outbound.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createDirectories } from '../../../src/identity/directory/directory.ts'
import type { DirectoryResult } from '../../../src/identity/directory/directory.ts'
import { MessageStream } from '../../../src/identity/directory/message-stream.ts'
import { readDirectorySettings } from '../../../src/providers/directory-settings.ts'
import type { FakeDirectory } from '../../support/fake-directory.ts'
import { element, foundEntry, message, result, startFakeDirectory } from '../../support/fake-directory.ts'

type Answer = Parameters<typeof startFakeDirectory>[0]

const BIND = 0x60
const SEARCH = 0x63
const EXTENDED = 0x77
const PASSWORD = 'hush-hush password'

const config = {
  ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
  userSearchBase: 'dc=example',
  bindUserDn: 'cn=admin',
  bindPassword: 'hush-hush bind',
}

const shared = { clock: systemClock, random: createRandom() }

let directory: FakeDirectory | undefined
afterEach(async () => {
  await directory?.stop()
  directory = undefined
})

async function ask(
  answer: Answer,
  more: Readonly<Record<string, unknown>> = {},
  options: Partial<OutboundOptions> = {},
): Promise<DirectoryResult> {
  directory = await startFakeDirectory(answer)
  // The deadline never passes by itself, so that a test that depends on it hangs.
  const deadline = () => new AbortController().signal
  const outbound = createOutbound({ allowPrivate: false, allowLoopback: true, deadline, ...options })
  const passwords = { verify: () => assert.fail('a hash was computed') }
  const settings = readDirectorySettings({ ...config, baseUrl: directory.url, ...more })
  return createDirectories({ ...shared, outbound, passwords }).authenticate(settings, {
    userName: 'marissa',
    password: PASSWORD,
  })
}

/** Answers binds with success, and searches with `found`. */
const searching =
  (found: (socket: Socket, id: number) => void): Answer =>
  (socket, { id, operation }) => {
    if (operation === BIND) socket.write(message(id, result(0x61)))
    else if (operation === SEARCH) found(socket, id)
  }

const entries = (...all: readonly Buffer[]): Answer =>
  searching((socket, id) => {
    for (const each of all) socket.write(message(id, each))
    socket.write(message(id, result(0x65)))
  })

const reasonOf = (answer: DirectoryResult): string => {
  assert.ok(answer.outcome === 'unreachable', JSON.stringify(answer))
  assert.equal(answer.because, 'no-answer')
  return answer.reason.replace(/^127\.0\.0\.1:\d+: /, '')
}

describe('A valid directory', () => {
  it('is not asked about invalid names and passwords', async () => {
    directory = await startFakeDirectory(entries(foundEntry('cn=marissa')))
    const outbound = createOutbound({ allowPrivate: false, allowLoopback: true })
    const directories = createDirectories({ ...shared, outbound, passwords: { verify: () => assert.fail() } })
    const settings = readDirectorySettings({ ...config, baseUrl: directory.url })
    for (const [userName, password] of [
      ['marissa', ''],
      ['', PASSWORD],
      [' ', PASSWORD],
      ['a\0', PASSWORD],
      ['a\r\n', PASSWORD],
      ['a\x1b', PASSWORD],
      ['a\x7f', PASSWORD],
      ['a\x9b', PASSWORD],
      ['a', `${PASSWORD}\x01`],
      ['a', `${PASSWORD}\x80`],
      ['\ud800', PASSWORD],
      ['marissa', '\ud800'],
      ['x'.repeat(1001), PASSWORD],
    ] as const) {
      assert.deepEqual(await directories.authenticate(settings, { userName, password }), { outcome: 'bad-credentials' })
    }
    assert.equal(directory.connections.length, 0)
  })

  it('signs the user in', async () => {
    const found = await ask(entries(foundEntry('cn=marissa', { MAIL: ['m@example.org'], empty: [] })))
    assert.ok(found.outcome === 'found')
    assert.deepEqual([...found.entry.attributes], [['mail', ['m@example.org']]])
    assert.equal(directory?.connections.length, 2, 'one for the account, one for the user')
    assert.ok(directory?.received().includes(PASSWORD))
  })

  it('may send references, controls and lengths in long form', async () => {
    const control = element(0xa0, element(0x30, element(0x04, '2.16.840.1.113730.3.4.4'), element(0x04, '0')))
    const longForm = (id: number): Buffer => {
      const content = Buffer.concat([element(0x02, Buffer.from([id])), result(0x61), control])
      return Buffer.concat([Buffer.from([0x30, 0x84, 0, 0, 0, content.length]), content])
    }
    const found = await ask((socket, { id, operation }) => {
      if (operation === BIND) return void socket.write(longForm(id))
      const reference = element(0x73, element(0x04, 'ldap://elsewhere.example/dc=x'))
      return void socket.write(
        Buffer.concat([reference, foundEntry('cn=marissa'), result(0x65)].map(each => message(id, each, control))),
      )
    })
    assert.equal(found.outcome, 'found')
  })

  it('may send a response byte by byte', async () => {
    const found = await ask((socket, { id, operation }) => {
      socket.setNoDelay(true)
      const answers = operation === BIND ? [result(0x61)] : [foundEntry('cn=marissa'), result(0x65)]
      const bytes = Buffer.concat(answers.map(each => message(id, each)))
      const next = (place: number): void => {
        if (place < bytes.length) socket.write(bytes.subarray(place, place + 1), () => setImmediate(next, place + 1))
      }
      next(0)
    })
    assert.equal(found.outcome, 'found')
  })
})

describe('A referral of the directory', () => {
  const reference = element(0x73, element(0x04, 'ldap://127.0.0.1:1/dc=x'))

  // Covers ldap config: referral
  it('is not followed, and is a misconfiguration with referral: throw', async () => {
    for (const referral of ['follow', 'ignore']) {
      assert.equal((await ask(entries(foundEntry('cn=marissa'), reference), { referral })).outcome, 'found')
      await directory?.stop()
    }
    assert.deepEqual(await ask(entries(foundEntry('cn=marissa'), reference), { referral: 'throw' }), {
      outcome: 'misconfigured',
      reason: 'userSearchBase: the directory refers to another',
    })
  })

  it('is a misconfiguration as the result of a search', async () => {
    const refers = searching((socket, id) =>
      socket.write(message(id, result(0x65, 10, element(0xa3, element(0x04, 'ldap://elsewhere.example'))))),
    )
    assert.deepEqual(await ask(refers), {
      outcome: 'misconfigured',
      reason: 'userSearchBase: responded with result code 10 (referral)',
    })
  })

  // Covers ldap config: groupsIgnorePartialResults
  it('in a group search is a misconfiguration if groupsIgnorePartialResults is false', async () => {
    const groups = { ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml' }
    const partial = entries(foundEntry('cn=marissa'), reference)
    assert.equal((await ask(partial, groups)).outcome, 'found')
    await directory?.stop()
    assert.deepEqual(await ask(partial, { ...groups, groupsIgnorePartialResults: false }), {
      outcome: 'misconfigured',
      reason: 'groups: some groups are in another directory',
    })
  })
})

describe('A directory with invalid responses', () => {
  const header = (id: number): Buffer => element(0x02, Buffer.from([id]))
  const set = (...content: readonly number[]): Buffer =>
    element(0x30, element(0x04, 'cn'), Buffer.from([0x31, content.length, ...content]))
  const entryWith = (attribute: Buffer): Buffer => element(0x64, element(0x04, 'cn=x'), element(0x30, attribute))
  // The library would read some of these until memory runs out.
  const responses: Readonly<Record<string, (id: number) => Buffer>> = {
    'with another protocol': () => Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
    'with zeros': () => Buffer.alloc(64),
    'with an empty message': () => element(0x30),
    'with a message of indefinite length': () => Buffer.from([0x30, 0x80, 0x02, 0x01, 0x02]),
    'with a length of too many bytes': () => Buffer.from([0x30, 0x85, 0, 0, 0, 0, 5]),
    'with the length of a huge message': () => Buffer.from([0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]),
    'with a negative length': () => Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff]),
    'with a message without an id': () => element(0x30, result(0x65)),
    'with an empty message id': () => element(0x30, element(0x02), result(0x65)),
    'with an unknown operation': id => message(id, element(0x69, element(0x0a, Buffer.from([0])))),
    'with a request': id => message(id, element(0x42)),
    'with an empty result': id => message(id, element(0x65)),
    'with a result code of many bytes': id =>
      message(id, element(0x65, element(0x0a, Buffer.alloc(8)), element(0x04), element(0x04))),
    'with a result and trailing data': id => message(id, result(0x65, 0, element(0x04, 'more'))),
    'with two operations': id => message(id, result(0x65), result(0x65)),
    'with a value that is longer than its list': id => message(id, entryWith(set(0x04, 0x7e, 0x41))),
    'with a list that is longer than its entry': id =>
      message(id, entryWith(Buffer.from([0x30, 0x09, 0x04, 0x02, 0x63, 0x6e, 0x31, 0x7f, 0x04, 0x7e, 0x41]))),
    'with a list that is longer than its content': id =>
      element(0x30, header(id), Buffer.from([0x64, 0x08, 0x04, 0x00, 0x30, 0x7f, 0x30, 0x00, 0x31, 0x00])),
    'with an attribute that is not a list': id => message(id, entryWith(element(0x04, Buffer.from([0x04, 0x7e])))),
    'with an empty attribute': id => message(id, entryWith(element(0x30))),
    'with values that are not strings': id => message(id, entryWith(set(0x02, 0x01, 0x41))),
    'with a reference that is not a string': id => message(id, element(0x73, Buffer.from([0x04, 0x7e, 0x41]))),
  }
  for (const [name, invalid] of Object.entries(responses)) {
    it(`fails ${name}`, async () => {
      const answer = await ask(searching((socket, id) => socket.write(invalid(id))))
      assert.equal(reasonOf(answer), 'sent data that is not LDAP')
      assert.ok(!directory?.received().includes(PASSWORD))
    })
  }

  it('fails if it truncates the response or closes the connection', async () => {
    const ends: readonly ((socket: Socket, id: number) => void)[] = [
      socket => socket.end(),
      socket => socket.destroy(),
      socket => socket.resetAndDestroy(),
      (socket, id) => socket.end(message(id, foundEntry('cn=x')).subarray(0, 9)),
      (socket, id) => socket.end(message(id, foundEntry('cn=x'))),
    ]
    for (const end of ends) {
      assert.equal(reasonOf(await ask(searching(end))), 'closed the connection')
      await directory?.stop()
    }
    assert.equal(reasonOf(await ask(socket => socket.destroy())), 'closed the connection')
  })

  it('fails if it closed the connection that is needed next', async () => {
    const ends: Answer = (socket, { id, operation }) => {
      const [first] = directory?.connections ?? []
      const found = [foundEntry('cn=marissa'), result(0x65)].map(each => message(id, each))
      if (operation === SEARCH) return void socket.write(Buffer.concat(found))
      if (socket === first) return void socket.write(message(id, result(0x61)))
      first?.once('close', () => setImmediate(() => socket.write(message(id, result(0x61)))))
      first?.destroy()
    }
    const answer = await ask(ends, { ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml' })
    assert.equal(reasonOf(answer), 'closed the connection')
  })

  it('fails if it sends an endless response', async () => {
    const entry = foundEntry('cn=x', { mail: ['x'.repeat(100_000)] })
    const endless = searching((socket, id) => {
      const more = (): void => {
        if (socket.writable) socket.write(message(id, entry), () => setImmediate(more))
      }
      more()
    })
    assert.equal(reasonOf(await ask(endless)), 'sent too much data')
    // More than the limit of one million, because of the socket buffers.
    assert.ok((directory?.connections[0]?.bytesWritten ?? Infinity) < 32_000_000)
  })

  it('fails after ten thousand messages', async () => {
    const tiny = searching((socket, id) => {
      socket.write(Buffer.concat(Array.from({ length: 10_001 }, () => message(id + 90, element(0x73)))))
    })
    assert.equal(reasonOf(await ask(tiny)), 'sent too much data')
  })

  it('fails if an entry has more than ten thousand attributes and values', async () => {
    const values = (count: number): readonly string[] => Array.from({ length: count }, () => '')
    const names = values(3400).map((_, place): [string, readonly string[]] => [`a${place}`, ['', '']])
    for (const attributes of [
      { cn: values(10_001) },
      { a: values(5000), b: values(4999) },
      Object.fromEntries(names),
    ]) {
      assert.equal(reasonOf(await ask(entries(foundEntry('cn=x', attributes)))), 'sent too much data')
      await directory?.stop()
    }
    assert.equal((await ask(entries(foundEntry('cn=x', { a: values(5000), b: values(4998) })))).outcome, 'found')
  })

  it('does not block the event loop during a long response', async () => {
    const source = new PassThrough()
    const stream = new MessageStream(source as unknown as Socket) // it uses only the stream
    let messages = 0
    stream.on('data', () => (messages += 1))
    const pauses: boolean[] = []
    source.on('data', () => pauses.push(source.isPaused()))
    for (const id of [1, 2]) source.write(message(id, foundEntry('cn=x')))
    await once(source, 'resume')
    await once(source, 'resume')
    assert.deepEqual([pauses, messages], [[true, true], 2])
    stream.destroy()
  })

  it('signs nobody in if it reports a size limit', async () => {
    const first = (...found: readonly Buffer[]): Answer =>
      searching((socket, id) => {
        for (const each of found) socket.write(message(id, each))
        socket.write(message(id, result(0x65, 4))) // sizeLimitExceeded
      })
    const reason = 'returned a part of the entries only, because of a size limit of its own'
    assert.deepEqual(await ask(first(foundEntry('cn=a'))), {
      outcome: 'misconfigured',
      reason: `userSearchBase: ${reason}`,
    })
    await directory?.stop()
    // The limit of the request.
    assert.deepEqual(await ask(first(foundEntry('cn=a'), foundEntry('cn=b'))), { outcome: 'bad-credentials' })
    await directory?.stop()
    let searches = 0
    const partOfGroups = searching((socket, id) => {
      searches += 1
      socket.write(message(id, foundEntry(`cn=${searches}`)))
      socket.write(message(id, result(0x65, searches === 1 ? 0 : 4)))
    })
    assert.deepEqual(await ask(partOfGroups, { ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml' }), {
      outcome: 'misconfigured',
      reason: `groups: ${reason}`,
    })
  })

  it('signs nobody in if it sends several entries or one without a DN', async () => {
    const [one, two] = [foundEntry('cn=a'), foundEntry('cn=b')]
    assert.deepEqual(await ask(entries(one, two)), { outcome: 'bad-credentials' })
    await directory?.stop()
    assert.deepEqual(await ask(entries()), { outcome: 'bad-credentials' })
    for (const name of ['', 'EXTERNAL', 'PLAIN', ' ']) {
      await directory?.stop()
      assert.deepEqual(await ask(entries(foundEntry(name))), {
        outcome: 'misconfigured',
        reason: 'userSearchBase: the entry has no name',
      })
      assert.ok(
        !directory?.received().includes(PASSWORD),
        'no bind without a DN, which would succeed with any password',
      )
    }
  })

  it('cannot set inherited members, nor exceed the limit of groups', async () => {
    const odd = { constructor: ['x'], ['__proto__']: ['x'] }
    const found = await ask(entries(foundEntry('cn=marissa', odd)))
    assert.ok(found.outcome === 'found')
    assert.equal(Reflect.get({}, 'x'), undefined)
    await directory?.stop()
    const memberOf = Array.from({ length: 1001 }, (_, place) => `cn=${place}`)
    const groups = { ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml', groupSearchBase: 'memberOf' }
    // Active Directory returns a part of so many values, under another name, and none under that of the attribute.
    for (const attributes of [{ memberOf }, { memberOf: [], 'memberOf;range=0-1499': memberOf.slice(0, 2) }]) {
      assert.deepEqual(await ask(entries(foundEntry('cn=marissa', attributes)), groups), {
        outcome: 'misconfigured',
        reason: 'groups: the user is in more than 1000 groups',
      })
      await directory?.stop()
    }
  })

  it('is asked once about each group', async () => {
    let searches = 0
    const ring = searching((socket, id) => {
      searches += 1
      const name = searches === 1 ? 'cn=marissa' : searches % 2 === 0 ? 'cn=a' : 'CN=A'
      socket.write(Buffer.concat([foundEntry(name), result(0x65)].map(each => message(id, each))))
    })
    const found = await ask(ring, { ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml' })
    assert.ok(found.outcome === 'found')
    assert.deepEqual(
      found.groups.map(({ dn }) => dn),
      ['cn=a'],
    )
    assert.equal(searches, 3)
  })

  it('is not searched beyond the maximum depth of groups', async () => {
    let searches = 0
    const growing = searching((socket, id) => {
      searches += 1
      socket.write(Buffer.concat([foundEntry(`cn=group ${searches}`), result(0x65)].map(each => message(id, each))))
    })
    const found = await ask(growing, { ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml' })
    assert.ok(found.outcome === 'found')
    assert.equal(found.groups.length, 10)
    assert.equal(searches, 11)
  })
})

describe('A silent directory', () => {
  const silences: Readonly<Record<string, (abort: () => void) => Answer>> = {
    'from the start': abort => () => abort(),
    'on search': abort => searching(() => abort()),
    'in the middle of a response': abort =>
      searching((socket, id) => {
        socket.write(message(id, foundEntry('cn=x')).subarray(0, 5), () => setImmediate(abort))
      }),
    'after an unrequested response': abort =>
      searching(socket => {
        socket.write(message(99, result(0x65)), () => setImmediate(abort))
      }),
  }
  for (const [name, silence] of Object.entries(silences)) {
    it(`times out ${name}`, async () => {
      const time = new AbortController()
      const asked: number[] = []
      const deadline = (milliseconds: number): AbortSignal => {
        asked.push(milliseconds)
        return time.signal
      }
      const answer = await ask(
        silence(() => time.abort()),
        {},
        { deadline },
      )
      assert.equal(reasonOf(answer), 'no complete response in time')
      assert.deepEqual(asked, [5000])
    })
  }

  // Covers ldap sign-in: several URLs as failover
  it('leaves half of the time to the next server', async () => {
    const asked: number[] = []
    const times: AbortController[] = []
    const deadline = (milliseconds: number): AbortSignal => {
      asked.push(milliseconds)
      times.push(new AbortController())
      return times.at(-1)?.signal ?? assert.fail()
    }
    const silent = await startFakeDirectory(() => times[0]?.abort())
    try {
      const honest = entries(foundEntry('cn=marissa'))
      directory = await startFakeDirectory(honest)
      const outbound = createOutbound({ allowPrivate: false, allowLoopback: true, deadline })
      const settings = readDirectorySettings({ ...config, baseUrl: `${silent.url} ${directory.url}` })
      const directories = createDirectories({ ...shared, outbound, passwords: { verify: () => assert.fail() } })
      const found = await directories.authenticate(settings, { userName: 'marissa', password: PASSWORD })
      assert.equal(found.outcome, 'found')
      assert.deepEqual(asked, [2500, 2500])
    } finally {
      await silent.stop()
    }
  })
})

describe('StartTLS', () => {
  const START = { tlsConfiguration: 'simple' }

  it('is required even if the directory does not support it', async () => {
    const refuses: Answer = (socket, { id }) => void socket.write(message(id, result(0x78, 2)))
    assert.deepEqual(await ask(refuses, START), {
      outcome: 'misconfigured',
      reason: 'tlsConfiguration: responded with result code 2 (protocolError)',
    })
    assert.ok(!directory?.received().includes('hush-hush'))
  })

  it('refuses plaintext data after the response to StartTLS', async () => {
    // Part of a response to the later bind, which the real response under TLS would complete.
    const injected = message(2, result(0x61)).subarray(0, 10)
    const whole = message(2, result(0x61))
    for (const more of [injected, whole]) {
      const inject: Answer = (socket, { id, operation }) => {
        if (operation === EXTENDED) socket.write(Buffer.concat([message(id, result(0x78)), more]))
      }
      assert.equal(reasonOf(await ask(inject, START)), 'unexpected data after the response to StartTLS')
      assert.ok(!directory?.received().includes('hush-hush'))
      await directory?.stop()
    }
  })

  it('sends no credentials to a directory that continues in plaintext', async () => {
    const pretends: Answer = (socket, { id, operation }) => {
      if (operation === EXTENDED) socket.write(message(id, result(0x78)))
      else socket.write(message(2, result(0x61)))
    }
    assert.match(reasonOf(await ask(pretends, START)), /^TLS failed \(\w+\)$/)
    assert.ok(!directory?.received().includes('hush-hush'))
  })
})

describe('Connections to a directory', () => {
  it('are refused beyond four, and close on timeout', async () => {
    let arrived: () => void = () => {}
    const four = new Promise<void>(resolve => (arrived = resolve))
    directory = await startFakeDirectory(() => {
      if (directory?.connections.length === 4) arrived()
    })
    const times: AbortController[] = []
    const deadline = (): AbortSignal => {
      times.push(new AbortController())
      return times.at(-1)?.signal ?? assert.fail()
    }
    const outbound = createOutbound({ allowPrivate: false, allowLoopback: true, deadline })
    const directories = createDirectories({ ...shared, outbound, passwords: { verify: () => assert.fail() } })
    const settings = readDirectorySettings({ ...config, baseUrl: directory.url })
    const attempt = { userName: 'marissa', password: PASSWORD }
    const running = Array.from({ length: 4 }, () => directories.authenticate(settings, attempt))
    await four
    await assert.rejects(directories.authenticate(settings, attempt), OutboundBusy)
    const closed = directory.connections.map(
      socket => new Promise<void>(resolve => socket.once('close', () => resolve())),
    )
    for (const time of times) time.abort()
    for (const answer of await Promise.all(running)) assert.equal(answer.outcome, 'unreachable')
    await Promise.all(closed)
  })
})
