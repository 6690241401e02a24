// The store's interface for device codes (RFC 8628).
import type { DeviceDecision, DevicePoll, DeviceRequest } from '../../model/tokens/device-code.ts'

/** Devices that wait for a user. */
export interface DeviceStore {
  /** Throws `AlreadyExists` when another device of the zone shows the same code. */
  insert(zoneId: string, request: DeviceRequest): Promise<void>
  /** The undecided request with the code; counts the entry. Undefined if there is none, or it was entered too often. */
  enter(zoneId: string, userCodeDigest: string, now: Date): Promise<DeviceRequest | undefined>
  /** Without a decision: denied. False if it expired or was decided before; of two concurrent calls exactly one gets true. */
  decide(zoneId: string, userCodeDigest: string, decision: DeviceDecision | undefined, now: Date): Promise<boolean>
  /** The answer to a device of the client; an approval is returned once. */
  poll(
    zoneId: string,
    device: { readonly codeDigest: string; readonly clientId: string },
    now: Date,
  ): Promise<DevicePoll>
  /** Undoes the poll at this time that was answered with an approval, for which the device got nothing. */
  undoPoll(
    zoneId: string,
    device: { readonly codeDigest: string; readonly clientId: string },
    polledAt: Date,
  ): Promise<void>
}
