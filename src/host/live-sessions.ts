/** Sessions that are open in the hosts of this process, all together: for whoever looks whether any was left behind. */
export const liveSessions = { count: 0 };
