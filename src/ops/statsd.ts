// Sends measurements to a StatsD server: text over UDP, fire and forget.
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import type { Measurement } from './metrics.ts'

/** Sender to one StatsD server. */
interface Statsd {
  /** Puts a measurement into the next packet. */
  add(measurement: Measurement): void
  /** Resolves the server's name and sends the buffered packets. */
  flush(): Promise<void>
  /** Stops sending and closes the socket. */
  close(): void
}

/** Fits into one packet on every network (RFC 8085 §3.2), with room for headers. */
const MAX_PACKET_LENGTH = 1400
/** Further packets are dropped, which bounds memory. */
const MAX_PACKETS = 1000

const KINDS = { count: 'c', gauge: 'g', timer: 'ms' } as const

/** Logs only the first failure after a success. */
export function createStatsd({
  host,
  port,
  prefix,
  onFailure,
}: {
  host: string
  port: number
  /** Prefix of every name, without the dot. */
  prefix: string
  onFailure: (cause: unknown) => void
}): Statsd {
  const sockets = { 4: createSocket('udp4').unref(), 6: createSocket('udp6').unref() }
  let packets: string[] = []
  let packet = ''
  let failing = false
  let closed = false

  function onResult(cause: unknown): void {
    if (cause && !failing && !closed) onFailure(cause)
    failing = Boolean(cause)
  }
  for (const socket of Object.values(sockets)) socket.on('error', onResult)

  function endPacket(): void {
    if (packet !== '' && packets.length < MAX_PACKETS) packets.push(packet)
    packet = ''
  }

  return {
    add({ name, kind, value }) {
      const line = `${prefix}.${name}:${value}|${KINDS[kind]}`
      if (packet.length + line.length >= MAX_PACKET_LENGTH) endPacket()
      packet += packet === '' ? line : `\n${line}`
    },
    async flush() {
      endPacket()
      const ready = packets
      packets = []
      if (closed || ready.length === 0) return
      try {
        const { address, family } = await lookup(host)
        const socket = sockets[family === 6 ? 6 : 4]
        if (!closed) for (const each of ready) socket.send(each, port, address, onResult)
      } catch (cause) {
        onResult(cause)
      }
    },
    close() {
      closed = true
      for (const socket of Object.values(sockets)) socket.close()
    },
  }
}
