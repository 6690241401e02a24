// State kept between sign-ins at a directory: pooled connections of the bind account, and unresponsive servers.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { QueueFull } from '../../../src/base/concurrency/fair-queue.ts'
import { createOutbound } from '../../../src/base/outbound.ts'
import { createPasswords } from '../../../src/base/passwords.ts'
import type { Passwords } from '../../../src/base/passwords.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createDirectories } from '../../../src/identity/directory/directory.ts'
import type { Directories, DirectoryAttempt } from '../../../src/identity/directory/directory.ts'
import { readDirectorySettings } from '../../../src/providers/directory-settings.ts'
import type { TestClock } from '../../support/clock.ts'
import { createTestClock } from '../../support/clock.ts'
import type { FakeDirectory } from '../../support/fake-directory.ts'
import { foundEntry, message, result, startFakeDirectory } from '../../support/fake-directory.ts'
import { ACCOUNT, PASSWORD, PEOPLE, startSlapd } from '../../support/slapd.ts'

const BIND = 0x60
const SEARCH = 0x63

const config = {
  ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
  userSearchBase: 'dc=example',
  bindUserDn: 'cn=admin',
  bindPassword: 'hush-hush bind',
}

type Answer = Parameters<typeof startFakeDirectory>[0]

/** Finds one user, and accepts every password. */
const knowing: Answer = (socket, { id, operation }) => {
  if (operation === BIND) return void socket.write(message(id, result(0x61)))
  if (operation !== SEARCH) return undefined
  return void socket.write(Buffer.concat([foundEntry('cn=marissa'), result(0x65)].map(each => message(id, each))))
}

describe('createDirectories', () => {
  let answer: Answer
  let directory: FakeDirectory
  let clock: TestClock
  let directories: Directories
  /** The time limits of the conversations so far. */
  let limits: AbortController[]
  const made = (
    passwords: Pick<Passwords, 'verify'> = createPasswords({ concurrency: 1, cost: { memoryKib: 64, passes: 1 } }),
  ): Directories => {
    const deadline = (): AbortSignal => {
      const controller = new AbortController()
      limits.push(controller)
      return controller.signal
    }
    const outbound = createOutbound({ allowPrivate: false, allowLoopback: true, deadline })
    return createDirectories({ outbound, passwords, clock, random: createRandom() })
  }
  beforeEach(async () => {
    answer = knowing
    limits = []
    clock = createTestClock()
    directory = await startFakeDirectory((socket, asked) => answer(socket, asked))
    directories = made()
  })
  afterEach(async () => {
    directories.close()
    await directory.stop()
  })

  const authenticate = (
    { zoneId = 'z1', ...more }: Partial<DirectoryAttempt> & { readonly zoneId?: string } = {},
    settings: Readonly<Record<string, unknown>> = {},
  ) =>
    directories.authenticate(readDirectorySettings({ ...config, baseUrl: directory.url, ...settings }), {
      userName: 'marissa',
      password: PASSWORD,
      provider: 'ldap',
      requester: { zoneId, address: '192.0.2.1' },
      ...more,
    })
  const outcome = async (...args: Parameters<typeof authenticate>): Promise<string> =>
    (await authenticate(...args)).outcome
  const ended = (socket: Socket | undefined): Promise<void> =>
    new Promise(resolve => (socket?.destroyed === false ? socket.once('close', () => resolve()) : resolve()))
  /** Sends no response before the time limit. */
  const silence = (): void => {
    answer = () => limits.at(-1)?.abort()
  }

  describe('Connections of the bind account', () => {
    it('are reused for searches, but not for checking passwords', async () => {
      const heard = new Map<Socket, number[]>()
      answer = (socket, asked) => {
        heard.set(socket, [...(heard.get(socket) ?? []), asked.operation])
        knowing(socket, asked)
      }
      for (let time = 0; time < 3; time += 1) assert.equal(await outcome(), 'found')
      const operations = directory.connections.map(socket => heard.get(socket))
      assert.deepEqual(operations, [[BIND, SEARCH, SEARCH, SEARCH], [BIND], [BIND], [BIND]])
    })

    it('are not shared with other providers, zones or settings tests', async () => {
      await outcome()
      assert.equal(directory.connections.length, 2)
      await outcome({ zoneId: 'z2' })
      assert.equal(directory.connections.length, 4)
      await outcome({ provider: 'other' })
      assert.equal(directory.connections.length, 6)
      const { provider: _, ...once } = { provider: '', userName: 'marissa', password: PASSWORD }
      const settings = readDirectorySettings({ ...config, baseUrl: directory.url })
      assert.equal((await directories.authenticate(settings, once)).outcome, 'found')
      assert.equal(directory.connections.length, 8)
    })

    it('are closed if the settings change', async () => {
      await outcome()
      assert.equal(await outcome({}, { bindPassword: 'hush-hush other' }), 'found')
      await ended(directory.connections[0])
      assert.equal(directory.connections.length, 4)
    })

    it('are closed when idle for a minute or five minutes old', async () => {
      await outcome()
      clock.advance(59)
      await outcome()
      assert.equal(directory.connections.length, 3)
      clock.advance(60)
      await outcome()
      assert.equal(directory.connections.length, 5)
      await ended(directory.connections[0])
      for (let time = 0; time < 6; time += 1) {
        clock.advance(50)
        await outcome()
      }
      assert.equal(directory.connections.length, 5 + 6 + 1)
    })

    it('are closed when the clock was set back', async () => {
      await outcome()
      clock.advance(-86_400)
      await outcome()
      assert.equal(directory.connections.length, 4)
    })

    it('are replaced if the directory closes them or sends unrequested data', async () => {
      await outcome()
      const gone = ended(directory.connections[0])
      directory.connections[0]?.destroy()
      await gone
      assert.equal(await outcome(), 'found')
      const [, , kept] = directory.connections
      kept?.write(message(0, result(0x78)))
      await ended(kept)
      assert.equal(await outcome(), 'found')
      assert.equal(directory.connections.length, 6)
    })

    it('are replaced if closed during a search', async () => {
      await outcome()
      answer = (socket, asked) => {
        if (socket === directory.connections[0]) socket.destroy()
        else knowing(socket, asked)
      }
      assert.equal(await outcome(), 'found')
    })

    it('are closed after a failed search and on close()', async () => {
      await outcome()
      answer = (socket, { id, operation }) =>
        void socket.write(message(id, operation === BIND ? result(0x61) : result(0x65, 1)))
      assert.equal(await outcome(), 'misconfigured')
      await ended(directory.connections[0])
      answer = knowing
      await outcome()
      directories.close()
      await Promise.all(directory.connections.map(ended))
    })

    it('are kept after any amount of responses', async () => {
      const many = Array.from({ length: 300 }, (_, place) => `${place}`.padEnd(100, 'x'))
      answer = (socket, { id, operation }) => {
        if (operation === BIND) return void socket.write(message(id, result(0x61)))
        const large = foundEntry('cn=marissa', { cn: many })
        return void socket.write(Buffer.concat([large, result(0x65)].map(each => message(id, each))))
      }
      for (let time = 0; time < 40; time += 1) assert.equal(await outcome(), 'found')
      assert.equal(directory.connections.length, 41)
    })
  })

  describe('An unresponsive directory', () => {
    const failTimes = async (times: number): Promise<void> => {
      silence()
      for (let time = 0; time < times; time += 1) assert.equal(await outcome(), 'unreachable')
    }

    it('is asked three times, and then every ten seconds until it responds', async () => {
      await failTimes(3)
      const before = directory.connections.length
      for (let time = 0; time < 5; time += 1) assert.equal(await outcome(), 'unreachable')
      clock.advance(9)
      assert.equal(await outcome(), 'unreachable')
      assert.equal(directory.connections.length, before, 'no connection was made')
      clock.advance(1)
      const reached = new Promise<void>(resolve => (answer = () => resolve()))
      const probe = authenticate()
      await reached
      assert.equal(await outcome(), 'unreachable')
      assert.equal(directory.connections.length, before + 1, 'only one probe')
      limits.at(-1)?.abort()
      assert.equal((await probe).outcome, 'unreachable')
      clock.advance(10)
      answer = knowing
      assert.equal(await outcome(), 'found')
      assert.equal(await outcome(), 'found')
    })

    it('tries a silent server at once after the clock was set back', async () => {
      await failTimes(3)
      clock.advance(-86_400)
      answer = knowing
      assert.equal(await outcome(), 'found')
    })

    it('does not affect other zones, other providers or changed settings', async () => {
      await failTimes(3)
      answer = knowing
      assert.equal(await outcome({ zoneId: 'z2' }), 'found')
      assert.equal(await outcome({ provider: 'other' }), 'found')
      assert.equal(await outcome({}, { userSearchFilter: 'uid={0}' }), 'found', 'changed settings')
    })

    it('is skipped in favour of the next server', async () => {
      const spare = await startFakeDirectory(knowing)
      try {
        const both = { baseUrl: `${directory.url} ${spare.url}` }
        silence()
        for (let time = 0; time < 3; time += 1) assert.equal(await outcome({}, both), 'found')
        const before = directory.connections.length
        assert.equal(await outcome({}, both), 'found')
        assert.equal(directory.connections.length, before)
        clock.advance(10)
        answer = knowing
        assert.equal(await outcome({}, both), 'found')
        assert.equal(directory.connections.length, before + 2, 'it is used again')
      } finally {
        await spare.stop()
      }
    })
  })

  it('does not count malformed responses as unresponsive', async () => {
    answer = (socket, { id, operation }) => {
      if (operation === BIND) return void socket.write(message(id, result(0x61)))
      return void socket.write('HTTP/1.1 400 Bad Request')
    }
    for (let time = 0; time < 5; time += 1) assert.equal(await outcome(), 'unreachable')
    answer = knowing
    assert.equal(await outcome(), 'found')
  })

  describe('A directory with expensive password hashes', () => {
    const compare = {
      ldapProfileFile: 'ldap/ldap-search-and-compare.xml',
      localPasswordCompare: true,
      passwordAttributeName: 'userPassword',
    }
    const costly = `{CRYPT}$2b$14$${'.'.repeat(53)}`
    beforeEach(() => {
      const entry = foundEntry('cn=marissa', { userPassword: Array.from({ length: 16 }, () => costly) })
      answer = (socket, { id, operation }) => {
        if (operation === BIND) return void socket.write(message(id, result(0x61)))
        return void socket.write(Buffer.concat([entry, result(0x65)].map(each => message(id, each))))
      }
    })

    it('has only one of the most expensive hashes compared', async () => {
      let compared = 0
      const verify = (): Promise<boolean> => Promise.resolve((compared += 1) === 0)
      directories = made({ verify })
      assert.equal(await outcome({}, compare), 'bad-credentials')
      assert.equal(compared, 1)
    })

    it('is not considered unresponsive if the comparison takes too long', async () => {
      const verify = (): Promise<boolean> => new Promise(() => limits.at(-1)?.abort())
      directories = made({ verify })
      for (let time = 0; time < 4; time += 1) assert.equal(await outcome({}, compare), 'unreachable')
      assert.equal(limits.length, 4, 'asked each time')
    })
  })

  it('queues fifty sign-ins of a network, and refuses more', async () => {
    answer = () => {}
    const waiting = Array.from({ length: 58 }, () => authenticate())
    await assert.rejects(authenticate(), QueueFull)
    const other = authenticate({ requester: { zoneId: 'z1', address: '198.51.100.1' } })
    answer = silence
    // The running sign-ins reach the time limit; the queued ones then fail without asking.
    for (let place = 0; place < 8; place += 1) {
      while (limits.length <= place) await new Promise(resolve => setImmediate(resolve))
    }
    for (const limit of limits.slice()) limit.abort()
    for (const each of await Promise.all([...waiting, other])) assert.equal(each.outcome, 'unreachable')
    assert.equal(limits.length, 8, 'the others were refused without asking')
  })

  it('asks the directory eight times concurrently, and queues the rest', async () => {
    const waiting: (() => void)[] = []
    let arrived: () => void = () => {}
    const eight = new Promise<void>(resolve => (arrived = resolve))
    answer = (socket, asked) => {
      waiting.push(() => knowing(socket, asked))
      if (waiting.length === 8) arrived()
    }
    const running = Array.from({ length: 12 }, () => authenticate())
    await eight
    assert.equal(directory.connections.length, 8)
    answer = knowing
    for (const go of waiting) go()
    for (const each of await Promise.all(running)) assert.equal(each.outcome, 'found')
  })
})

describe('createDirectories with slapd', () => {
  it('reuses connections, also with TLS', async () => {
    const slapd = await startSlapd()
    const usual = getCACertificates('default')
    setDefaultCACertificates([...usual, slapd.certificate])
    const outbound = createOutbound({ allowPrivate: false, allowLoopback: true })
    let connections = 0
    const counting = {
      connect: ((server, talk) =>
        outbound.connect(server, (open, keep) =>
          talk(async () => {
            connections += 1
            return open()
          }, keep),
        )) as typeof outbound.connect,
    }
    const passwords = createPasswords({ concurrency: 1, cost: { memoryKib: 64, passes: 1 } })
    const directories = createDirectories({
      outbound: counting,
      passwords,
      clock: createTestClock(),
      random: createRandom(),
    })
    try {
      for (const more of [
        { baseUrl: slapd.url },
        { baseUrl: slapd.tlsUrl },
        { baseUrl: slapd.url, tlsConfiguration: 'simple' },
      ]) {
        const settings = readDirectorySettings({
          ...config,
          userSearchBase: PEOPLE,
          bindUserDn: ACCOUNT.dn,
          bindPassword: ACCOUNT.password,
          ...more,
        })
        connections = 0
        const attempt = { password: PASSWORD, provider: 'ldap', requester: { zoneId: 'z1', address: undefined } }
        for (let time = 0; time < 12; time += 1) {
          const found = await directories.authenticate(settings, { ...attempt, userName: 'marissa' })
          assert.equal(found.outcome, 'found', JSON.stringify(found))
        }
        const nobody = await directories.authenticate(settings, { ...attempt, userName: 'nobody' })
        assert.equal(nobody.outcome, 'bad-credentials')
        assert.equal(connections, 14, 'an unknown name takes a connection, too')
      }
    } finally {
      setDefaultCACertificates(usual)
      directories.close()
      await slapd.stop()
    }
  })
})
