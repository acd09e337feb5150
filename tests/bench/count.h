/* For kernels whose instruction sets count their multiply-adds: included before them (cc -include).
 */
#ifndef COUNT_H
#define COUNT_H

extern unsigned long long fma_count;

#endif
